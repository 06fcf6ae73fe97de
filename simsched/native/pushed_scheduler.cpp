#include "pushed_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace simsched {

void check(const Pushing &pushing, const ListPlan &plan, std::size_t n) {
    if (pushing.estimates.size() != plan.seconds.size() || pushing.ranks.size() != n)
        throw std::invalid_argument("estimates and ranks need one entry a task, " + std::to_string(n));
    if (!pushing.levels.empty() && pushing.levels.size() != n)
        throw std::invalid_argument("levels need one entry a task, " + std::to_string(n));
}

PushedScheduler::PushedScheduler(const ListPlan &plan, const Pushing &pushing, DataState *data)
    : Base(FifoQueue(0), plan), pushing_(pushing), data_(data), waiting_(plan.executors.n()),
      busy_until_(waiting_.size()), queued_(waiting_.size()), free_(waiting_.size()),
      missing_(waiting_.size()), expected_(waiting_.size()), runs_(waiting_.size()), busy_(waiting_.size()),
      share_(pushing.ranks.size()), startable_(waiting_.size()) {}

void PushedScheduler::release(std::span<const std::int32_t> tasks, double now) {
    sorted_.assign(tasks.begin(), tasks.end());
    if (!pushing_.sorts)
        std::stable_sort(sorted_.begin(), sorted_.end(),
                         [&](auto a, auto b) { return pushing_.ranks[at(a)] < pushing_.ranks[at(b)]; });
    for (std::size_t e = 0; pushing_.by_start && e < busy_.size(); ++e)
        busy_[e] = is_busy(e);
    if (pushing_.pairs) {
        std::vector<std::pair<double, std::int32_t>> starts;
        for (const auto task : sorted_)
            starts.push_back(
                {expect(at(task), now) + (pushing_.levels.empty() ? 0.0 : pushing_.levels[at(task)]), task});
        std::stable_sort(starts.begin(), starts.end(),
                         [](const auto &a, const auto &b) { return a.first < b.first; });
        std::transform(starts.begin(), starts.end(), sorted_.begin(),
                       [](const auto &one) { return one.second; });
    }
    for (const auto task : sorted_)
        push(task, now);
}

void PushedScheduler::push(std::int32_t task, double now) {
    const auto t = at(task), executor = chosen(t, now);
    share_[t] = pushing_.by_start ? pushing_.estimates[plan_.row(t, executor)]
                                  : expected_[executor] - free_[executor];
    queued_[executor] += share_[t];
    if (idle_.contains(executor))
        startable_.insert(executor);
    waiting_[executor].insert({pushing_.sorts ? pushing_.ranks[t] : 0, came_++, task});
    if (data_)
        data_->prefetch(task, first_thread(executor), now);
}

double PushedScheduler::free(std::size_t executor, double now) const {
    if (pushing_.by_start && !busy_[executor])
        return now;
    return std::max(busy_until_[executor], now) + queued_[executor];
}

// Whether an executor runs a task, or has one in its queue whose data are there.
bool PushedScheduler::is_busy(std::size_t executor) const {
    const auto &queue = waiting_[executor];
    return runs_[executor] || std::any_of(queue.begin(), queue.end(), [&](const auto &one) {
               return !data_ || data_->missing_B(std::get<2>(one), first_thread(executor)).first == 0.0;
           });
}

double PushedScheduler::expect(std::size_t task, double now) {
    for (std::size_t e = 0; e < free_.size(); ++e) {
        free_[e] = free(e, now);
        missing_[e] = missing(task, e);
        expected_[e] = pushing_.aware ? std::max(free_[e], now + missing_[e]) : free_[e];
        const auto seconds = pushing_.estimates[plan_.row(task, e)];
        if (!pushing_.by_start || std::isinf(seconds))
            expected_[e] += seconds;
    }
    return *std::min_element(expected_.begin(), expected_.end());
}

std::size_t PushedScheduler::chosen(std::size_t task, double now) {
    const auto first = expect(task, now);
    auto least = std::numeric_limits<double>::infinity();
    std::size_t found = 0;
    for (std::size_t e = 0; e < expected_.size(); ++e)
        if (const auto worse = pushing_.alpha * (expected_[e] - first) + pushing_.beta * missing_[e];
            worse < least && !std::isinf(expected_[e])) {
            least = worse;
            found = e;
        }
    return found;
}

double PushedScheduler::missing(std::size_t task, std::size_t executor) const {
    if (!data_ || (!pushing_.aware && pushing_.beta == 0.0))
        return 0.0;
    return data_->missing_s(static_cast<std::int32_t>(task), first_thread(executor), pushing_.longest);
}

void PushedScheduler::began(std::int32_t task, double now) {
    const auto executor = at(plan_.executor_of[at(task)]);
    busy_until_[executor] = now + pushing_.estimates[plan_.row(at(task), executor)];
    runs_[executor] = true;
}

void PushedScheduler::finished(std::int32_t task) {
    Base::finished(task);
    const auto executor = at(plan_.executor_of[at(task)]);
    runs_[executor] = false;
    if (!waiting_[executor].empty())
        startable_.insert(executor);
}

bool PushedScheduler::next(double now, Decision &decision) {
    if (startable_.empty())
        return false;
    decision.delay_s = delay_s();
    const auto executor = startable_.take_first();
    idle_.erase(executor);
    const auto task = take(executor);
    queued_[executor] -= share_[at(task)];
    if (waiting_[executor].empty())
        queued_[executor] = 0.0; // what is left of sums of floats
    busy_until_[executor] = (now + decision.delay_s) + share_[at(task)];
    runs_[executor] = !data_;
    decide(task, executor, decision);
    return true;
}

std::int32_t PushedScheduler::take(std::size_t executor) {
    auto &queue = waiting_[executor];
    auto found = queue.begin();
    if (pushing_.ready && data_) {
        const auto first = std::get<0>(*found);
        const auto missing = [&](auto one) {
            return data_->missing_B(std::get<2>(*one), first_thread(executor));
        };
        const std::pair<double, double> none_missing{0.0, 0.0};
        auto least = missing(found);
        for (auto one = std::next(found);
             least != none_missing && one != queue.end() && std::get<0>(*one) == first; ++one)
            if (const auto bytes = missing(one); bytes < least) {
                least = bytes;
                found = one;
            }
    }
    return std::get<2>(queue.extract(found).value());
}

} // namespace simsched
