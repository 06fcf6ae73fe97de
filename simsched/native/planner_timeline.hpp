#pragma once

#include <cstddef>
#include <vector>

namespace simsched {

// When an executor is busy, as far as it is planned: idle times between its tasks, ascending, and its end.
class Timeline {
  public:
    // What `place` changed, to be taken back in reverse order.
    struct Change {
        double free, end;
        std::size_t gap, pieces;
        double from, to; // the idle time that was split; none where `pieces` is `none`
    };

    // `ends`: whether tasks that take no time will be asked for, which fit between two that touch.
    explicit Timeline(bool keep_ends) : keep_ends_(keep_ends) {}

    double free() const { return free_; }
    // The end of the last idle time; below zero where there is none.
    double last_gap() const { return gaps_.empty() ? -1.0 : gaps_.back().to; }
    // The earliest start from `arrival` on, in the first idle time that is long enough.
    double earliest(double arrival, double seconds) const;
    Change place(double start, double finish);
    void undo(const Change &change);

  private:
    struct Gap {
        double from, to;
    };
    static constexpr std::size_t none = ~std::size_t{0};
    double between(double arrival) const;
    void split(double start, double finish, Change &change);

    std::vector<Gap> gaps_;
    std::vector<double> ends_; // of all tasks, ascending
    double free_ = 0.0;
    bool keep_ends_;
};

} // namespace simsched
