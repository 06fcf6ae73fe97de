#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

// What the compiled contenders share: the problem's file (see benchmarks/problem.py) and what they report.

struct Problem {
    std::int64_t n, m, workers;
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> seconds, level;
};

template <typename T> void read(std::ifstream &file, std::vector<T> &values, std::int64_t n) {
    values.resize(static_cast<std::size_t>(n));
    file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(n * sizeof(T)));
}

inline Problem load(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<std::int64_t> sizes;
    read(file, sizes, 3);
    Problem problem{sizes[0], sizes[1], sizes[2], {}, {}, {}, {}};
    read(file, problem.indptr, problem.n + 1);
    read(file, problem.indices, problem.m);
    read(file, problem.seconds, problem.n);
    read(file, problem.level, problem.n);
    if (!file)
        throw std::runtime_error(std::string(path) + " is not a whole problem");
    return problem;
}

// Bytes of this process's memory: VmRSS, or VmHWM, the highest since it was reset.
inline long memory(const std::string &field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0)
            return std::stol(line.substr(field.size() + 1)) * 1024;
    return 0;
}

// Takes seconds and memory from its making to its report.
class Meter {
  public:
    Meter() {
        std::ofstream("/proc/self/clear_refs") << "5"; // resets VmHWM
        before_ = memory("VmRSS");
        begin_ = std::chrono::steady_clock::now();
    }
    void report(double makespan) const {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
        std::printf("{\"engine_s\": %.9f, \"peak_B\": %ld, \"makespan_s\": %.17g}\n", passed.count(),
                    memory("VmHWM") - before_, makespan);
    }

  private:
    long before_;
    std::chrono::steady_clock::time_point begin_;
};

// A ready task; the heap's largest has the highest level, ties go to the lower index.
struct Ready {
    double level;
    std::int32_t task;
    bool operator<(const Ready &other) const {
        return level != other.level ? level < other.level : task > other.task;
    }
};
