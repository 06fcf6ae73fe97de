// SimGrid in its fastest form here: no actors; an activity is made when its task starts, the completion
// callback releases followers and hands out ready tasks, the highest level first, to idle hosts.
//
//     simgrid_app [--share] PROBLEM
//
// With --share all tasks run on one host, the memory, that is worth 16 of them and lets none run faster than
// alone.

#include "problem.hpp"

#include <queue>
#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Worker {
    sg4::Host *host;
    std::int32_t task = -1;
    sg4::ExecPtr exec = nullptr;
};

class Scheduler {
  public:
    Scheduler(const Problem &problem, std::vector<Worker> &workers, bool share)
        : problem_(problem), share_(share), waiting_(static_cast<std::size_t>(problem.n)) {
        for (auto &worker : workers)
            idle_.push_back(&worker);
        for (const auto follower : problem.indices)
            ++waiting_[follower];
        for (std::int32_t task = 0; task < problem.n; ++task)
            if (!waiting_[task])
                ready_.push({problem.level[task], task});
    }

    void start() {
        for (; !idle_.empty() && !ready_.empty(); idle_.pop_back(), ready_.pop()) {
            auto &worker = *idle_.back();
            // SimGrid still looks at an activity after its callback: let go of it one completion later.
            last_ = std::move(worker.exec);
            worker.task = ready_.top().task;
            worker.exec = sg4::Exec::init();
            worker.exec->set_data(&worker);
            worker.exec->set_flops_amount(problem_.seconds[worker.task])->set_host(worker.host);
            if (share_)
                worker.exec->set_bound(1.0);
            worker.exec->vetoable_start();
        }
    }

    void complete(const sg4::Exec &exec) {
        auto *worker = exec.get_data<Worker>();
        idle_.push_back(worker);
        for (auto e = problem_.indptr[worker->task]; e < problem_.indptr[worker->task + 1]; ++e)
            if (const auto follower = problem_.indices[e]; !--waiting_[follower])
                ready_.push({problem_.level[follower], follower});
        start();
    }

  private:
    const Problem &problem_;
    bool share_;
    std::vector<Worker *> idle_;
    std::vector<std::int32_t> waiting_;
    std::priority_queue<Ready> ready_;
    sg4::ExecPtr last_;
};

int main(int argc, char **argv) {
    sg4::Engine engine(&argc, argv);
    const bool share = argc > 2 && std::string(argv[1]) == "--share";
    sg4::Engine::set_config(share ? "cpu/optim:Full" : "cpu/optim:TI"); // each the fastest of the three
    const auto problem = load(argv[argc - 1]);
    auto *zone = sg4::create_full_zone("zone");
    auto *memory = zone->create_host("memory", 16.0)->seal();
    std::vector<Worker> workers;
    for (std::int64_t i = 0; i < problem.workers; ++i)
        workers.push_back({share ? memory : zone->create_host("host" + std::to_string(i), 1.0)->seal()});
    zone->seal();
    const Meter meter;
    Scheduler scheduler(problem, workers, share);
    sg4::Activity::on_completion_cb([&scheduler](const sg4::Activity &done) {
        scheduler.complete(static_cast<const sg4::Exec &>(done));
    });
    scheduler.start();
    engine.run();
    meter.report(engine.get_clock());
}
