#include "kernels.hpp"

namespace simsched {

namespace {

// Rows of `outer` that consist of pieces. Sizes: outer, then the length of each piece.
struct Pieces {
    explicit Pieces(Sizes &sizes) : outer(sizes.next("outer")) {
        do {
            begins.push_back(row);
            lengths.push_back(sizes.next("length"));
            row += lengths.back();
        } while (!sizes.empty());
        all = elements({outer, row});
    }
    // Visits elements [begin, end) of the rows: visit(first element, row, piece, place in the piece,
    // elements).
    template <class Visit> void each(Part::Range mine, Visit &&visit) const {
        for (auto at = mine.begin; at < mine.end;) {
            const auto within = at % row;
            const auto next = std::upper_bound(begins.begin(), begins.end(), within);
            const auto piece = static_cast<std::size_t>(next - begins.begin()) - 1;
            const auto place = within - begins[piece], n = std::min(lengths[piece] - place, mine.end - at);
            visit(at, at / row, piece, place, n);
            at += n;
        }
    }

    std::size_t outer, row = 0, all;
    std::vector<std::size_t> begins, lengths;
};

// The inputs have rows of one piece each, the output those of all.
class Concatenation final : public Kernel {
  public:
    explicit Concatenation(Sizes &sizes) : pieces_(sizes) {
        for (const auto length : pieces_.lengths)
            inputs.push_back(pieces_.outer * length);
        output = pieces_.all;
    }
    void run(const Operands &o, Part part) const override {
        pieces_.each(part.of(output, 16), [&](auto at, auto row, auto piece, auto place, auto n) {
            std::copy_n(o.inputs[piece] + row * pieces_.lengths[piece] + place, n, o.output + at);
        });
    }

  private:
    Pieces pieces_;
};

// The reverse: the output is the rows of the first piece, then those of the second, and so on.
class Split final : public Kernel {
  public:
    explicit Split(Sizes &sizes) : pieces_(sizes) {
        inputs = {pieces_.all};
        output = pieces_.all;
    }
    void run(const Operands &o, Part part) const override {
        pieces_.each(part.of(output, 16), [&](auto at, auto row, auto piece, auto place, auto n) {
            const auto first = pieces_.outer * pieces_.begins[piece] + row * pieces_.lengths[piece];
            std::copy_n(o.inputs[0] + at, n, o.output + first + place);
        });
    }

  private:
    Pieces pieces_;
};

// The beginning of every row. Sizes: outer, length, elements taken.
class Slice final : public Kernel {
  public:
    explicit Slice(Sizes &sizes)
        : outer_(sizes.next("outer")), length_(sizes.next("length")), taken_(sizes.next("elements taken")) {
        if (taken_ > length_)
            throw std::invalid_argument("a slice is longer than its rows");
        inputs = {elements({outer_, length_})};
        output = elements({outer_, taken_});
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(output, 16);
        for (auto at = mine.begin; at < mine.end;) {
            const auto within = at % taken_, n = std::min(taken_ - within, mine.end - at);
            std::copy_n(o.inputs[0] + at / taken_ * length_ + within, n, o.output + at);
            at += n;
        }
    }

  private:
    std::size_t outer_, length_, taken_;
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
Made make_split(Sizes &sizes) { return std::make_unique<Split>(sizes); }
Made make_slice(Sizes &sizes) { return std::make_unique<Slice>(sizes); }
Made make_embedding(Sizes &sizes) { return std::make_unique<Embedding>(sizes); }

} // namespace simsched
