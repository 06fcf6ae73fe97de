#pragma once

#include "data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Objects that are sent: the twin of simsched/replay/data.py.

namespace simsched {

// An object on its way; it has not arrived while arrive_s is never_s.
struct Message {
    std::int32_t object, source, place;
    double depart_s, arrive_s;
    bool there() const { return arrive_s < never_s; }
};

class Mail {
  public:
    explicit Mail(const DataPlan &plan);
    // Sends an object; returns the number of the message, which has arrived where it takes no time.
    std::size_t send(std::int32_t object, std::int32_t source, std::int32_t place, double now);
    const Message &operator[](std::size_t number) const { return sent_[number]; }
    const std::vector<Message> &sent() const { return sent_; }
    // When something happens next; never_s if nothing does.
    double next() {
        while (!due_.empty() && moving_[due_.front().number].version != due_.front().version)
            pop();
        return due_.empty() ? never_s : due_.front().time;
    }
    // Fills in the messages of which something happens now, ascending.
    void due(double now, std::vector<std::size_t> &numbers);
    // Lets a message begin to move, or arrive; returns whether it has arrived.
    bool happened(std::size_t number, double now);
    // Times the messages again whose links carry more or fewer.
    void update(double now);

  private:
    // When something happens of a message, unless it has another version by then.
    struct Due {
        double time;
        std::size_t number;
        std::uint32_t version;
        bool operator<(const Due &other) const {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    // What changes while a message is on its way.
    struct Moving {
        // When something happens next, and seconds of its bytes, and of one of them, alone on its way.
        double due_s, bytes_s, alone, slowdown = 1;
        std::span<const std::int32_t> links; // none where they are not shared
        std::uint32_t version = 0;
        bool moving = false, touched = false;
    };

    void load(std::size_t number);
    void unload(std::size_t number);
    void touch(std::int32_t link);
    void at_time(std::size_t number);
    void pop() {
        std::pop_heap(due_.begin(), due_.end());
        due_.pop_back();
    }

    const DataPlan &plan_;
    std::vector<Message> sent_;
    std::vector<Moving> moving_;               // of each message
    std::vector<std::vector<std::size_t>> on_; // messages on each link
    std::vector<double> alone_, share_; // seconds per byte of one on each link, and of all that are there
    std::vector<std::size_t> touched_;  // messages whose links carry more or fewer than before
    std::vector<Due> due_;              // a heap, the earliest in front
};

} // namespace simsched
