#include "planners.hpp"

#include "ordered_set.hpp"
#include "planner_draft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <stdexcept>

namespace simsched {

namespace {

constexpr ListRule finish_first{true, true, {}, {}};

struct Choice {
    std::size_t executor;
    double start;
};

// Compares executors for a task; the lowest-numbered of the best wins.
class Chooser {
  public:
    Chooser(const Platform &platform, const ListRule &rule, Draft &draft)
        : platform_(platform), rule_(rule), draft_(draft), finish_(platform.kinds), extra_(platform.kinds) {}

    Choice operator()(std::size_t task) {
        const auto arrivals = draft_.arrivals(task);
        const auto *seconds = platform_.seconds(task);
        if (!rule_.pinned.empty() && rule_.pinned[task] >= 0) {
            const auto pin = static_cast<std::size_t>(rule_.pinned[task]);
            if (const auto there = seconds[platform_.kind_of[pin]]; !std::isinf(there))
                return {pin, draft_.start_on(pin, arrivals[pin], there)};
        }
        for (std::size_t k = 0; k < platform_.kinds; ++k) {
            finish_[k] = rule_.by_finish ? seconds[k] : 0.0;
            extra_[k] = rule_.extra.empty() ? 0.0 : rule_.extra[task * platform_.kinds + k];
        }
        return best(arrivals, seconds);
    }

  private:
    Choice best(std::span<const double> arrivals, const double *seconds) const {
        const auto score = [&](double start, std::size_t kind) {
            return start + finish_[kind] + extra_[kind];
        };
        const auto first_kind = static_cast<std::size_t>(platform_.kind_of[0]);
        Choice found{0, draft_.start_on(0, arrivals[0], seconds[first_kind])};
        auto least = score(found.start, first_kind);
        for (std::size_t e = 1; e < arrivals.size(); ++e) {
            const auto kind = static_cast<std::size_t>(platform_.kind_of[e]);
            // No start is before the data: the search for idle times is spared where it could not win.
            if (score(arrivals[e], kind) >= least)
                continue;
            const auto start = draft_.start_on(e, arrivals[e], seconds[kind]);
            if (const auto s = score(start, kind); s < least) {
                least = s;
                found = {e, start};
            }
        }
        return found;
    }

    const Platform &platform_;
    const ListRule &rule_;
    Draft &draft_;
    std::vector<double> finish_, extra_;
};

// Calls visit(task) for the ready task of the lowest position, again and again; it has to place the task.
template <class Visit> void by_position(Draft &draft, std::span<const std::int32_t> position, Visit &&visit) {
    std::vector<std::int32_t> tasks(position.size());
    for (std::size_t i = 0; i < tasks.size(); ++i)
        tasks[position[i]] = static_cast<std::int32_t>(i);
    OrderedSet ready(tasks.size());
    const auto insert = [&](std::size_t task) { ready.insert(position[task]); };
    draft.sources(insert);
    while (!ready.empty()) {
        const auto task = static_cast<std::size_t>(tasks[ready.take_first()]);
        visit(task);
        draft.release(task, insert);
    }
}

// Tries a task on every executor, and its children after it, each where it finishes first.
class Trials {
  public:
    Trials(const Platform &platform, std::span<const std::int32_t> position, Draft &draft)
        : platform_(platform), position_(position), draft_(draft), choose_(platform, finish_first, draft) {}

    Choice operator()(std::size_t task) {
        sort_children(task);
        const auto arrivals = draft_.arrivals(task);
        starts_.assign(arrivals.begin(), arrivals.end());
        for (std::size_t e = 0; e < starts_.size(); ++e)
            starts_[e] = draft_.start_on(e, starts_[e], platform_.seconds(task)[platform_.kind_of[e]]);
        draft_.log(true);
        Choice best{0, starts_[0]};
        auto least = std::numeric_limits<double>::infinity();
        for (std::size_t e = 0; e < starts_.size(); ++e)
            if (const auto end = std::isinf(starts_[e]) ? starts_[e] : end_on(task, e); end < least) {
                least = end;
                best = {e, starts_[e]};
            }
        draft_.log(false);
        return best;
    }

  private:
    void sort_children(std::size_t task) {
        const auto &graph = platform_.successors;
        const auto *begin = graph.indices.data();
        children_.assign(begin + graph.indptr[task], begin + graph.indptr[task + 1]);
        std::sort(children_.begin(), children_.end(),
                  [&](std::int32_t a, std::int32_t b) { return position_[a] < position_[b]; });
    }

    // When the last child ends if the task runs there, or the task where it has none.
    double end_on(std::size_t task, std::size_t executor) {
        draft_.place(task, executor, starts_[executor]);
        auto end = children_.empty() ? draft_.finish(task) : 0.0;
        for (const auto child : children_) {
            const auto choice = choose_(child);
            draft_.place(child, choice.executor, choice.start);
            end = std::max(end, draft_.finish(child));
        }
        for (std::size_t k = 0; k <= children_.size(); ++k)
            draft_.withdraw();
        return end;
    }

    const Platform &platform_;
    std::span<const std::int32_t> position_;
    Draft &draft_;
    Chooser choose_;
    std::vector<std::int32_t> children_;
    std::vector<double> starts_;
};

// Longest paths to tasks: of messages from where tasks are placed to where they go, or mean ones.
class Tops {
  public:
    Tops(const Platform &platform, std::span<const double> messages, const Draft &draft)
        : platform_(platform), inputs_(platform.successors), messages_(messages), draft_(draft),
          after_(platform.n()) {}

    double mean(std::size_t task) const {
        return longest(task, [&](std::size_t k) { return messages_[inputs_.edges[k]]; });
    }

    void placed(std::size_t task) {
        const auto executor = draft_.executors()[task];
        const auto to = static_cast<std::size_t>(platform_.place_of[executor]);
        const auto top = longest(task, [&](std::size_t k) {
            const auto from =
                static_cast<std::size_t>(platform_.place_of[draft_.executors()[inputs_.sources[k]]]);
            const auto at = from * platform_.places + to;
            const auto bytes = platform_.edge_bytes[inputs_.edges[k]];
            return count() * (platform_.latency_s[at] + bytes * platform_.s_per_B[at]);
        });
        after_[task] = top + count() * platform_.seconds(task)[platform_.kind_of[executor]];
    }

  private:
    double count() const { return static_cast<double>(platform_.executors()); }
    template <class Message> double longest(std::size_t task, Message &&message) const {
        double top = 0.0;
        for (auto k = inputs_.indptr[task]; k < inputs_.indptr[task + 1]; ++k)
            top = std::max(top, after_[inputs_.sources[k]] + message(static_cast<std::size_t>(k)));
        return top;
    }

    const Platform &platform_;
    Inputs inputs_;
    std::span<const double> messages_;
    const Draft &draft_;
    std::vector<double> after_; // of placed tasks: the longest path to their ends
};

void write(const Draft &draft, Planned planned) {
    const auto executors = draft.executors();
    std::copy(executors.begin(), executors.end(), planned.executor.begin());
    draft.order(planned.order);
}

void check_rule(const Platform &platform, const ListRule &rule) {
    if (!rule.extra.empty())
        check_by_kind(platform, rule.extra);
    if (!rule.pinned.empty() && rule.pinned.size() != platform.n())
        throw std::invalid_argument("pinned needs one entry a task");
    for (const auto pin : rule.pinned)
        if (pin < -1 || pin >= static_cast<std::int64_t>(platform.executors()))
            throw std::invalid_argument("a task is pinned to an executor that is not there");
}

} // namespace

void plan_list(const Platform &platform, std::span<const std::int32_t> position, const ListRule &rule,
               Planned planned) {
    check(platform);
    check_position(platform, position);
    check_rule(platform, rule);
    Draft draft(platform, rule.insertion);
    Chooser choose(platform, rule, draft);
    by_position(draft, position, [&](std::size_t task) {
        const auto choice = choose(task);
        draft.place(task, choice.executor, choice.start);
    });
    write(draft, planned);
}

void plan_lookahead(const Platform &platform, std::span<const std::int32_t> position, Planned planned) {
    check(platform);
    check_position(platform, position);
    Draft draft(platform, true);
    Trials trials(platform, position, draft);
    by_position(draft, position, [&](std::size_t task) {
        const auto choice = trials(task);
        draft.place(task, choice.executor, choice.start);
    });
    write(draft, planned);
}

void plan_dynamic(const Platform &platform, std::span<const double> level, std::span<const double> messages,
                  Planned planned) {
    check(platform);
    if (level.size() != platform.n() || messages.size() != platform.edge_bytes.size())
        throw std::invalid_argument("a level of each task, and seconds of each edge");
    Draft draft(platform, true);
    Chooser choose(platform, finish_first, draft);
    Tops tops(platform, messages, draft);
    std::priority_queue<std::pair<double, std::ptrdiff_t>> ready;
    const auto insert = [&](std::size_t task) {
        ready.emplace(level[task] - tops.mean(task), -static_cast<std::ptrdiff_t>(task));
    };
    draft.sources(insert);
    while (!ready.empty()) {
        const auto task = static_cast<std::size_t>(-ready.top().second);
        ready.pop();
        const auto choice = choose(task);
        draft.place(task, choice.executor, choice.start);
        tops.placed(task);
        draft.release(task, insert);
    }
    write(draft, planned);
}

} // namespace simsched
