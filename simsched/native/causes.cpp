#include "causes.hpp"

#include "checks.hpp"
#include "completion.hpp"
#include "contention.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace simsched {

namespace {

// One walk through a schedule.
class Walk {
  public:
    Walk(const Walked &schedule, const Sharing &shared, std::span<double> out)
        : schedule_(schedule), out_(out), sharing_(shared, schedule.successors.n()) {}

    void run() {
        for (const auto run : schedule_.start_order) {
            const double now = schedule_.start_s[static_cast<std::size_t>(run)];
            finish(now);
            go_on(now);
            begin(run);
        }
        finish(std::numeric_limits<double>::infinity());
    }

  private:
    // A run: since when its slow-down is what it is, and its parts beside 1.
    struct Since {
        double seconds = 0.0;
        Excess parts{};
        std::int32_t run = -1;
    };
    struct Entry : Completion {
        std::size_t slot; // of its team
    };

    void begin(std::int32_t run) {
        const auto r = static_cast<std::size_t>(run);
        Decision decision{.task = schedule_.task[r], .cores = neighbours(schedule_.teams, schedule_.team[r])};
        schedule_.loads.copy_to(r, decision);
        const auto slot = sharing_.begin(decision, now_);
        if (since_.size() <= slot)
            since_.resize(slot + 1);
        since_[slot] = {now_, {}, run};
        running_.push_back({{schedule_.finish_s[r], run}, slot});
        std::push_heap(running_.begin(), running_.end());
        if (schedule_.watched[r])
            watched_.push_back(slot);
    }

    // Ends what ends until then.
    void finish(double until) {
        while (!running_.empty() && running_.front().time <= until) {
            go_on(running_.front().time);
            std::pop_heap(running_.begin(), running_.end());
            const auto entry = running_.back();
            running_.pop_back();
            if (schedule_.watched[static_cast<std::size_t>(entry.task)]) {
                pass(entry.slot);
                std::erase(watched_, entry.slot);
            }
            if (static_cast<std::size_t>(entry.task) >= schedule_.successors.n()) {
                sharing_.abort(entry.slot);
                continue;
            }
            sharing_.end(entry.slot);
            sharing_.feed(entry.task, neighbours(schedule_.successors, entry.task));
        }
    }

    // Leaves an instant: rates change once all that starts and ends then has done so.
    void go_on(double until) {
        if (until == now_)
            return;
        sharing_.each_changed(watched_, [this](std::size_t slot) {
            pass(slot);
            since_[slot].parts = sharing_.excess(slot);
        });
        now_ = until;
    }

    // Adds what each part took since the slow-down of a task changed.
    void pass(std::size_t slot) {
        auto &since = since_[slot];
        const double passed = now_ - since.seconds;
        since.seconds = now_;
        double sum = 0.0;
        for (const double part : since.parts)
            sum += part;
        if (passed == 0.0 || sum == 0.0)
            return;
        const auto row = static_cast<std::size_t>(since.run) * since.parts.size();
        for (std::size_t i = 0; i < since.parts.size(); ++i)
            out_[row + i] += since.parts[i] * (passed / (1.0 + sum));
    }

    static std::span<const std::int32_t> neighbours(const Csr &rows, std::int32_t row) {
        const auto r = static_cast<std::size_t>(row);
        const auto first = static_cast<std::size_t>(rows.indptr[r]);
        return rows.indices.subspan(first, static_cast<std::size_t>(rows.indptr[r + 1]) - first);
    }

    const Walked &schedule_;
    std::span<double> out_;
    Contention sharing_;
    std::vector<Entry> running_;       // a heap, the earliest end in front
    std::vector<std::size_t> watched_; // slots of those whose slow-down is looked at
    std::vector<Since> since_;         // by slot
    double now_ = 0.0;
};

bool permutes(std::span<const std::int32_t> order, std::size_t n) {
    std::vector<bool> seen(n);
    for (const auto run : order) {
        if (run < 0 || static_cast<std::size_t>(run) >= n || seen[static_cast<std::size_t>(run)])
            return false;
        seen[static_cast<std::size_t>(run)] = true;
    }
    return order.size() == n;
}

void check(const Walked &schedule, const Sharing &shared, std::span<double> out) {
    check(schedule.successors);
    check_rows(schedule.teams, "teams");
    const auto n = schedule.task.size();
    if (n < schedule.successors.n())
        throw std::invalid_argument("the runs of all tasks come first, in their order");
    const auto &loads = schedule.loads;
    for (const auto size :
         {schedule.start_s.size(), schedule.finish_s.size(), schedule.team.size(), schedule.watched.size(),
          loads.memory_share.size(), loads.overhead_share.size(), loads.demand_Bps.size(),
          loads.core_share.size(), out.size() / std::tuple_size_v<Excess>})
        if (size != n)
            throw std::invalid_argument("a schedule has one entry a run in each column");
    const auto n_tasks = schedule.successors.n();
    for (std::size_t run = 0; run < n; ++run)
        if (const auto task = static_cast<std::size_t>(schedule.task[run]);
            run < n_tasks ? task != run : task >= n_tasks)
            throw std::invalid_argument("the runs of all tasks come first, in their order");
    if (!permutes(schedule.start_order, n))
        throw std::invalid_argument("the start order names each run once");
    for (const auto thread : schedule.teams.indices)
        if (thread < 0 || static_cast<std::size_t>(thread) >= shared.n_threads)
            throw std::invalid_argument("a hardware thread does not exist");
    // The demands of all tasks, and so of those at once, fit 64 bits.
    constexpr auto most = std::int64_t{1} << 62;
    double total_Bps = 0.0;
    for (std::size_t run = 0; run < n; ++run) {
        const auto team = static_cast<std::size_t>(schedule.team[run]);
        if (schedule.team[run] < 0 || team >= schedule.teams.n() ||
            schedule.teams.indptr[team] == schedule.teams.indptr[team + 1])
            throw std::invalid_argument("a task's team does not exist, or has no threads");
        check(loads.at(run), most);
        total_Bps += static_cast<double>(loads.demand_Bps[run]);
    }
    if (!(total_Bps < static_cast<double>(most)))
        throw std::invalid_argument("the tasks' demands add up to 2^62 bytes a second or more");
}

} // namespace

void excess_seconds(const Walked &schedule, const Sharing &shared, std::span<double> out) {
    check(schedule, shared, out);
    std::fill(out.begin(), out.end(), 0.0);
    Walk(schedule, shared, out).run();
}

} // namespace simsched
