#include "kernels.hpp"

namespace simsched {

namespace {

// Sizes: outer, then the length of each input; the output has rows of all lengths together.
class Concatenation final : public Kernel {
  public:
    explicit Concatenation(Sizes &sizes) : outer_(sizes.next("outer")) {
        do {
            lengths_.push_back(sizes.next("length"));
            inputs.push_back(elements({outer_, lengths_.back()}));
            row_ += lengths_.back();
        } while (!sizes.empty());
        output = elements({outer_, row_});
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(output, 16);
        for (auto at = mine.begin; at < mine.end;) {
            auto within = at % row_;
            std::size_t i = 0;
            for (; within >= lengths_[i]; ++i)
                within -= lengths_[i];
            const auto n = std::min(lengths_[i] - within, mine.end - at);
            std::copy_n(o.inputs[i] + at / row_ * lengths_[i] + within, n, o.output + at);
            at += n;
        }
    }

  private:
    std::size_t outer_, row_ = 0;
    std::vector<std::size_t> lengths_;
};

// Rows of a table, as far apart as chance would have it. Sizes: rows of the table, columns, rows looked up.
class Embedding final : public Kernel {
  public:
    explicit Embedding(Sizes &sizes)
        : rows_(sizes.next("rows")), columns_(sizes.next("columns")), count_(sizes.next("rows looked up")) {
        inputs = {elements({rows_, columns_})};
        output = elements({count_, columns_});
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(count_);
        for (auto i = mine.begin; i < mine.end; ++i)
            std::copy_n(o.inputs[0] + row(i) * columns_, columns_, o.output + i * columns_);
    }

  private:
    // Knuth's multiplicative hash.
    std::size_t row(std::size_t i) const { return (i * 2654435761u & 0xffffffffu) % rows_; }
    std::size_t rows_, columns_, count_;
};

} // namespace

Made make_concatenation(Sizes &sizes) { return std::make_unique<Concatenation>(sizes); }
Made make_embedding(Sizes &sizes) { return std::make_unique<Embedding>(sizes); }

} // namespace simsched
