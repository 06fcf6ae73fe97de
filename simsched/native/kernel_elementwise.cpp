#include "kernels.hpp"

namespace simsched {

namespace {

constexpr std::size_t grain = 256; // elements: whole cache lines, and worth a vector loop

// Sizes: elements.
class Elementwise final : public Kernel {
  public:
    Elementwise(Sizes &sizes, Unary function)
        : n_(sizes.next("elements", 1, max_elements)), function_(function) {
        inputs = {n_};
        output = n_;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(n_, grain);
        if (!mine.empty())
            function_(o.inputs[0] + mine.begin, o.output + mine.begin, mine.size());
    }

  private:
    std::size_t n_;
    Unary function_;
};

// out[i] = f(a[i], b[i / inner % period]). Sizes: elements, inner, period; b of one element has period 1, b
// like a has inner 1 and period n, a bias of rows inner 1, a bias of channels the pixels as inner. With inner
// 1 there may be two sizes more, of b (n, row) and a (n, times, row): out[n, t, i] = f(a[n, t, i], b[n, i]).
class Broadcast final : public Kernel {
  public:
    Broadcast(Sizes &sizes, const Loops::NamedBinary &function)
        : n_(sizes.next("elements")), inner_(sizes.next("inner")), period_(sizes.next("period")),
          row_(sizes.empty() ? period_ : sizes.next("row")), times_(sizes.empty() ? 1 : sizes.next("times")),
          function_(function) {
        if (period_ % row_ || (times_ > 1 && inner_ > 1))
            throw std::invalid_argument("the rows of the second operand do not fit it");
        if (n_ % elements({inner_, period_, times_}))
            throw std::invalid_argument("the second operand does not divide the first");
        inputs = {n_, period_};
        output = n_;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(n_, grain);
        const float *a = o.inputs[0], *b = o.inputs[1];
        // Runs over which b is one value, or as long as a.
        const auto whole = period_ == 1 ? n_ : inner_ == 1 ? row_ : inner_;
        for (auto at = mine.begin; at < mine.end;) {
            const auto length = std::min(whole - at % whole, mine.end - at);
            if (period_ == 1 || inner_ > 1)
                function_.with_scalar(a + at, b[at / inner_ % period_], o.output + at, length);
            else
                function_.run(a + at, b + at / (row_ * times_) * row_ % period_ + at % row_, o.output + at,
                              length);
            at += length;
        }
    }

  private:
    std::size_t n_, inner_, period_, row_, times_;
    Loops::NamedBinary function_;
};

// The sum of two or more. Sizes: elements, operands.
class Sum final : public Kernel {
  public:
    Sum(Sizes &sizes, const Loops &loops) : n_(sizes.next("elements")), add_(loops.find_binary("add").run) {
        inputs.assign(sizes.next("operands", 2), n_);
        output = n_;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(n_, grain);
        // Block by block, so that what is summed up stays in the L1.
        for (auto at = mine.begin; at < mine.end; at += block) {
            const auto length = std::min(block, mine.end - at);
            add_(o.inputs[0] + at, o.inputs[1] + at, o.output + at, length);
            for (std::size_t i = 2; i < o.inputs.size(); ++i) {
                // The loops take arrays that do not overlap.
                float held[block];
                add_(o.output + at, o.inputs[i] + at, held, length);
                std::copy_n(held, length, o.output + at);
            }
        }
    }

  private:
    static constexpr std::size_t block = 1024;
    std::size_t n_;
    Binary add_;
};

} // namespace

Made make_unary(Sizes &sizes, const Loops::NamedUnary &function) {
    return std::make_unique<Elementwise>(sizes, function.run);
}
Made make_sum(Sizes &sizes, const Loops &loops) { return std::make_unique<Sum>(sizes, loops); }
Made make_binary(Sizes &sizes, const Loops::NamedBinary &function) {
    return std::make_unique<Broadcast>(sizes, function);
}

} // namespace simsched
