#pragma once

#include "csr.hpp"
#include "decision.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Where objects are, and when what a task reads has arrived: the twin of simsched/replay/data.py.

namespace simsched {

struct DataPlan {
    Csr inputs;                             // objects that each task reads
    std::span<const std::int32_t> producer; // of each object, or -1
    std::span<const double> size_B;
    std::span<const std::int32_t> place_of;     // of each hardware thread
    std::span<const double> latency_s, s_per_B; // (places, places)
    bool read;                                  // objects are read from afar; else they are sent
    bool planned;                               // and then leave when they are written
    std::span<const double> finish_s;           // of tasks, written by the replay

    std::size_t n_places() const;
    // Throws std::invalid_argument on columns that do not fit.
    void check(std::size_t n_tasks) const;
};

// An object on its way.
struct Message {
    std::int32_t object, source, place;
    double depart_s, arrive_s;
};

class DataState {
  public:
    explicit DataState(const DataPlan &plan)
        : plan_(plan), n_places_(plan.n_places()), place_(plan.inputs.n(), -1), placed_s_(plan.inputs.n()),
          last_(plan.producer.size(), none) {}

    // Notes where a task runs; returns when what it reads has arrived, or lengthens it by what it reads from
    // afar.
    double placed(Decision &decision, double now);
    const std::vector<Message> &messages() const { return messages_; }
    // When each task was placed.
    const std::vector<double> &placed_s() const { return placed_s_; }

  private:
    double sent(std::size_t object, std::int32_t source, std::int32_t place, double seconds, double now);

    static constexpr std::size_t none = SIZE_MAX;

    DataPlan plan_;
    std::size_t n_places_;
    std::vector<std::int32_t> place_; // of what each task wrote; -1 before it is placed
    std::vector<double> placed_s_;
    std::vector<Message> messages_;
    std::vector<std::size_t> last_, before_; // the last message of each object, and the one before each
};

} // namespace simsched
