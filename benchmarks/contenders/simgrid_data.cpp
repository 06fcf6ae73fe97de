// A schedule whose data move, in SimGrid: one host per executor, its tasks one after another, messages between hosts.
//
//     simgrid_data SHARED [--cfg=...] < CASE
//
// CASE: hosts, tasks, messages, seconds of latency, bytes a second; of each task its host and seconds, in the order of
// execution; of each message the tasks before and after, and its bytes (-1 where both are on one host). All are in
// the units of SimGrid, with hosts of 1 flop/s. Prints the makespan, then the finish of each task.

#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

int main(int argc, char **argv) {
    sg4::Engine engine(&argc, argv);
    for (const auto *option : {"network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1",
                               "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
                               "surf/precision:1e-12", "maxmin/precision:1e-9"})
        sg4::Engine::set_config(option);
    const bool shared = argc > 1 && std::string(argv[1]) == "shared";
    std::size_t n_hosts, n, m;
    double latency_s, Bps;
    std::cin >> n_hosts >> n >> m >> latency_s >> Bps;
    auto *zone = sg4::create_star_zone("zone");
    const auto policy = shared ? sg4::Link::SharingPolicy::SHARED : sg4::Link::SharingPolicy::FATPIPE;
    std::vector<sg4::Host *> hosts;
    for (std::size_t i = 0; i < n_hosts; ++i) {
        const auto name = std::to_string(i);
        hosts.push_back(zone->create_host("host" + name, 1.0)->seal());
        auto *up = zone->create_link("up" + name, Bps)->set_sharing_policy(policy)->set_latency(latency_s / 2)->seal();
        auto *down = zone->create_link("down" + name, Bps)->set_sharing_policy(policy)->set_latency(latency_s / 2)->seal();
        zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr, {sg4::LinkInRoute(up)}, false);
        zone->add_route(nullptr, hosts.back()->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(down)}, false);
    }
    zone->seal();
    std::vector<sg4::ExecPtr> tasks(n);
    std::vector<std::size_t> host(n), order(n);
    std::vector<sg4::ExecPtr> last(n_hosts);
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t task, on;
        double seconds;
        std::cin >> task >> on >> seconds;
        auto exec = sg4::Exec::init();
        exec->set_flops_amount(seconds)->set_host(hosts[on]);
        if (last[on])
            last[on]->add_successor(exec);
        tasks[task] = last[on] = exec;
        host[task] = on;
    }
    std::vector<sg4::CommPtr> messages;
    for (std::size_t i = 0; i < m; ++i) {
        std::size_t before, after;
        double size_B;
        std::cin >> before >> after >> size_B;
        if (size_B < 0)
            continue; // the order of execution on the host sees to it
        auto comm = sg4::Comm::sendto_init();
        comm->set_payload_size(size_B);
        tasks[before]->add_successor(comm); // before its hosts are set: it would leave at once
        comm->add_successor(tasks[after]);
        comm->set_source(hosts[host[before]])->set_destination(hosts[host[after]]);
        messages.push_back(comm);
    }
    for (auto &task : tasks)
        task->vetoable_start();
    for (auto &message : messages)
        message->vetoable_start();
    engine.run();
    std::cout.precision(17);
    std::cout << engine.get_clock() << '\n';
    for (auto &task : tasks)
        std::cout << task->get_finish_time() << '\n';
}
