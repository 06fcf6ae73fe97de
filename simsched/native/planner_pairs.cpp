#include "planners.hpp"

#include "planner_draft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace simsched {

namespace {

// A ready task: how much the rule prefers it, and the executors that this depends on.
struct Candidate {
    std::size_t task, row, executor, next;
    double score, level;
};

bool preferred(const Candidate &a, const Candidate &b) {
    if (a.score != b.score)
        return a.score > b.score;
    return a.level != b.level ? a.level > b.level : a.task < b.task;
}

// The least two costs, and whose they are.
struct Least {
    static constexpr auto infinity = std::numeric_limits<double>::infinity();
    void add(double cost, std::size_t executor) {
        if (cost < least) {
            second = std::exchange(least, cost);
            next = std::exchange(best, executor);
        } else if (cost < second) {
            second = cost;
            next = executor;
        }
    }
    double least = infinity, second = infinity;
    std::size_t best = 0, next = 0;
};

class Pairs {
  public:
    Pairs(const Platform &platform, PairRule rule, const PairCosts &costs)
        : platform_(platform), rule_(rule), costs_(costs),
          columns_(platform.n() ? costs.extra.size() / platform.n() : 0), draft_(platform, false) {
        for (const auto column : costs.column_of)
            group_of_.push_back(group(static_cast<std::size_t>(column)));
        for (std::size_t g = 0; g < groups_.size(); ++g)
            settle(g);
    }

    void run(bool batched) {
        std::vector<std::size_t> later;
        draft_.sources([&](std::size_t task) { add(task); });
        while (!ready_.empty()) {
            const auto task = place(std::min_element(ready_.begin(), ready_.end(), preferred));
            draft_.release(task, [&](std::size_t released) { later.push_back(released); });
            if (batched && !ready_.empty())
                continue;
            for (const auto released : later)
                add(released);
            later.clear();
        }
    }
    const Draft &draft() const { return draft_; }

  private:
    // Executors of equal columns: one of these, and when the first two of them are free.
    struct Group {
        std::size_t column;
        Least free;
    };

    std::size_t group(std::size_t column) {
        const auto alike = [&](const Group &known) {
            for (std::size_t at = 0; at < costs_.extra.size(); at += columns_)
                if (costs_.extra[at + known.column] != costs_.extra[at + column])
                    return false;
            return true;
        };
        const auto found = std::find_if(groups_.begin(), groups_.end(), alike);
        const auto g = static_cast<std::size_t>(found - groups_.begin());
        if (found == groups_.end())
            groups_.push_back({column, {}});
        return g;
    }

    void settle(std::size_t g) {
        groups_[g].free = {};
        for (std::size_t e = 0; e < group_of_.size(); ++e)
            if (group_of_[e] == g)
                groups_[g].free.add(draft_.free(e), e);
        first_free_ = Least::infinity;
        for (const auto &group : groups_)
            first_free_ = std::min(first_free_, group.free.least);
    }

    // Its data arrive when they do, whatever else is placed: they are worked out once.
    void add(std::size_t task) {
        const auto arrivals = draft_.arrivals(task);
        auto row = rows_.size() / arrivals.size();
        if (free_rows_.empty()) {
            rows_.insert(rows_.end(), arrivals.begin(), arrivals.end());
            last_.push_back(0.0);
        } else {
            row = free_rows_.back();
            free_rows_.pop_back();
            std::copy(arrivals.begin(), arrivals.end(), rows_.begin() + offset(row));
        }
        last_[row] = *std::max_element(arrivals.begin(), arrivals.end());
        ready_.push_back({task, row, 0, 0, 0.0, costs_.level[task]});
        rate(ready_.back());
    }

    std::size_t place(std::vector<Candidate>::iterator chosen) {
        const auto [task, row] = std::pair{chosen->task, chosen->row};
        const auto executor = costs(*chosen).best;
        draft_.place(task, executor, std::max(rows_[offset(row) + executor], draft_.free(executor)));
        settle(group_of_[executor]);
        free_rows_.push_back(row);
        *chosen = ready_.back();
        ready_.pop_back();
        // Only there do starts change, and they become later: other least costs stay the least.
        for (auto &candidate : ready_)
            if (candidate.executor == executor || candidate.next == executor)
                rate(candidate);
        return task;
    }

    void rate(Candidate &candidate) const {
        const auto found = last_[candidate.row] > first_free_ ? costs(candidate) : costs_by_group(candidate);
        candidate.executor = found.best;
        candidate.next = uses_second() ? found.next : found.best;
        candidate.score = score(found.least, found.second, candidate.level);
    }

    Least costs(const Candidate &candidate) const {
        Least found;
        const auto *arrivals = rows_.data() + offset(candidate.row);
        const auto *extra = costs_.extra.data() + candidate.task * columns_;
        for (std::size_t e = 0; e < platform_.executors(); ++e)
            found.add(std::max(arrivals[e], draft_.free(e)) + extra[costs_.column_of[e]], e);
        return found;
    }

    // The same where all data have arrived before any executor is free, but for whose of equal costs they
    // are.
    Least costs_by_group(const Candidate &candidate) const {
        Least found;
        const auto *extra = costs_.extra.data() + candidate.task * columns_;
        for (const auto &group : groups_) {
            found.add(group.free.least + extra[group.column], group.free.best);
            if (group.free.second < Least::infinity)
                found.add(group.free.second + extra[group.column], group.free.next);
        }
        return found;
    }

    bool uses_second() const { return rule_ == PairRule::sufferage || rule_ == PairRule::global; }

    double score(double least, double second, double level) const {
        const auto loss = platform_.executors() > 1 ? second - least : 0.0;
        switch (rule_) {
        case PairRule::least:
            return -least;
        case PairRule::level:
            return level - least;
        case PairRule::greatest:
            return least;
        case PairRule::sufferage:
            return loss;
        case PairRule::global:
            break;
        }
        return (level - least) + loss;
    }

    std::size_t offset(std::size_t row) const { return row * platform_.executors(); }

    const Platform &platform_;
    PairRule rule_;
    const PairCosts &costs_;
    std::size_t columns_;
    Draft draft_;
    std::vector<Group> groups_;
    std::vector<std::size_t> group_of_;
    double first_free_;
    std::vector<Candidate> ready_;
    std::vector<double> rows_; // arrivals of ready tasks at each executor
    std::vector<double> last_; // of each row
    std::vector<std::size_t> free_rows_;
};

void check_costs(const Platform &platform, const PairCosts &costs) {
    const auto n = platform.n();
    if (costs.column_of.size() != platform.executors())
        throw std::invalid_argument("column_of needs one entry an executor");
    if (n ? costs.extra.size() % n != 0 : !costs.extra.empty())
        throw std::invalid_argument("extra needs as many entries for each task");
    for (const auto column : costs.column_of)
        if (n && (column < 0 || static_cast<std::size_t>(column) >= costs.extra.size() / n))
            throw std::invalid_argument("column " + std::to_string(column) + " of extra is not there");
    for (const auto value : costs.extra)
        if (std::isnan(value))
            throw std::invalid_argument("extra is a number everywhere");
    if (costs.level.size() != n)
        throw std::invalid_argument("level needs one entry a task");
}

} // namespace

PairRule pair_rule(const std::string &name) {
    static constexpr std::pair<const char *, PairRule> known[] = {{"least", PairRule::least},
                                                                  {"level", PairRule::level},
                                                                  {"greatest", PairRule::greatest},
                                                                  {"sufferage", PairRule::sufferage},
                                                                  {"global", PairRule::global}};
    for (const auto &[text, rule] : known)
        if (name == text)
            return rule;
    throw std::invalid_argument("a rule is least, level, greatest, sufferage or global, not " + name);
}

void plan_pairs(const Platform &platform, PairRule rule, const PairCosts &costs, bool batched,
                Planned planned) {
    check(platform);
    check_costs(platform, costs);
    Pairs pairs(platform, rule, costs);
    pairs.run(batched);
    const auto executors = pairs.draft().executors();
    std::copy(executors.begin(), executors.end(), planned.executor.begin());
    pairs.draft().order(planned.order);
}

} // namespace simsched
