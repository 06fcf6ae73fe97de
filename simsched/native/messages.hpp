#pragma once

#include "data.hpp"
#include "earliest.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

// Objects that are sent: the twin of simsched/replay/data.py.

namespace simsched {

// An object on its way; it has not arrived while arrive_s is never_s.
struct Message {
    std::int32_t object, source, place, reader; // the task that reads it from afar, or nowhere
    double depart_s, arrive_s;
    bool there() const { return arrive_s < never_s; }
};

// Whence a message comes; when its latency is over, or, where its bytes pass, these are; how much longer they
// take than alone; and whether they pass.
using OnWay = std::tuple<std::int32_t, double, double, bool>;

class Mail {
  public:
    explicit Mail(const DataPlan &plan);
    // Sends an object; returns the number of the message, which has arrived where it takes no time.
    std::size_t send(std::int32_t object, std::int32_t source, std::int32_t place, double now,
                     std::int32_t reader = nowhere);
    const Message &operator[](std::size_t number) const { return sent_[number]; }
    const std::vector<Message> &sent() const { return sent_; }
    // How far an object is on its way to a place, if it is.
    std::optional<OnWay> on_way(std::int32_t object, std::int32_t place) const;
    // When something happens next; never_s if nothing does.
    double next() { return due_.first(); }
    // Fills in the messages of which something happens now, ascending, each with its slot.
    void due(double now, std::vector<std::pair<std::size_t, std::size_t>> &messages);
    // Lets the message of a slot begin to move, or arrive; returns whether it has arrived.
    bool happened(std::size_t slot, double now);
    // Times the messages again whose links carry more or fewer.
    void update(double now);

  private:
    // A message that has not arrived. Slots are used again, so that few are looked at and none allocates.
    struct Moving {
        std::size_t number;
        double bytes_s, alone;               // seconds of its bytes, and of one of them, alone on its way
        std::span<const std::int32_t> links; // none where they are not shared
        bool moving;                         // its latency is over
        bool loads = false;                  // its links
        bool touched = false, eased = false; // may be slower or faster; what was slowest carries fewer
        double slowdown = 1;
    };
    // Most links have one message or none, which is all that they are asked for.
    struct Link {
        double share;        // seconds of a byte of each message on it
        std::uint32_t n = 0; // messages on it: the slot of one, and of the others
        std::uint32_t one = 0;
    };
    struct Crowd {
        double capacity_Bps;
        std::vector<std::uint32_t> others;
    };

    void add_slot();
    void load(std::size_t slot);
    void unload(std::size_t slot);
    void join(std::size_t link, std::size_t slot);
    void leave(std::size_t link, std::size_t slot);
    void slow_down(std::size_t slot, double share);
    void ease(std::size_t slot, double before);
    void touch(std::size_t slot);
    double look_around(const Moving &message) const;
    void at_time(std::size_t slot, double time);

    const DataPlan &plan_;
    std::vector<Message> sent_;
    std::vector<Link> links_;
    std::vector<Crowd> crowds_;   // of each link
    std::vector<Moving> moving_;  // by slot, as what follows
    std::vector<double> slowest_; // seconds of a byte where it takes longest
    Earliest due_;                // when something happens next
    std::vector<std::size_t> free_;
    std::vector<std::size_t> touched_; // slots whose messages may have become slower or faster
};

} // namespace simsched
