/* model_line.h - which rows of a model's input matrix a line stands for, and their mean: what
 * libfasttext's Dictionary::getLine and Model::computeHidden do, in the same order of operations,
 * so that the mean has the same bits.
 *
 * C++, private to this plugin. A model's part is read-only and shared; each thread has a cache of
 * its own, of bounded size, of the tokens it met: most of a text's words were met before. Results
 * never depend on it. Allocation failures throw std::bad_alloc. */
#ifndef FASTTEXT_MODEL_LINE_H
#define FASTTEXT_MODEL_LINE_H

#include <fasttext/dictionary.h>
#include <fasttext/matrix.h>
#include <fasttext/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

extern "C" {
#include "model_check.h"
}

class Features
{
  public:
    /* data: the file that was checked, borrowed for the call. The other two are shared with the
     * library's model. */
    Features(const void *data, const struct model_facts &facts, const fasttext::Args &args,
             std::shared_ptr<const fasttext::Dictionary> dictionary,
             std::shared_ptr<const fasttext::Matrix> input);

    /* False: the model has features (n-grams of words) that only the library knows. */
    bool known() const
    {
        return known_;
    }

    class Cache;

    /* The mean of the rows of the line text[0 .. n), up to its first \n, into hidden; how many rows
     * there are. */
    size_t mean(Cache &cache, const char *text, size_t n, fasttext::Vector &hidden) const;

  private:
    struct Token {
        const int32_t *rows;
        size_t count;
        bool last; /* the end of the line, as a word */
    };

    /* An n-gram that was not pruned: its hash, and its place behind the words; place -1: a free
     * slot. */
    struct Kept {
        int32_t hash, place;
    };

    Token look(Cache &cache, const char *word, size_t n) const;
    void find(const char *word, size_t n, std::vector<int32_t> &rows) const;
    void addNgram(uint32_t hash, std::vector<int32_t> &rows) const;
    void add(const int32_t *rows, size_t count, fasttext::Vector &hidden) const;

    std::shared_ptr<const fasttext::Dictionary> dictionary_;
    std::shared_ptr<const fasttext::Matrix> input_;
    bool known_;
    int32_t words_, minN_, maxN_;
    uint32_t buckets_;
    uint64_t inverse_; /* of buckets_: what makes a remainder of two products */
    int64_t pruned_;   /* n-grams kept; -1: all */
    size_t dim_;
    std::vector<Kept> kept_; /* a power of two */
    std::vector<uint64_t>
        some_;                  /* a bit for each hash % 2^SOME of a kept one: few others have it */
    std::vector<float> values_; /* rows of a quantised matrix that is small enough, in full */
    const float *rows_;         /* values_, or a dense matrix's; nullptr: asked one by one */
};

class Features::Cache
{
  public:
    Cache();

  private:
    friend class Features;
    struct Slot {
        uint64_t hash;
        uint32_t word, length; /* in bytes_; length 0: free */
        uint32_t rows, count;  /* in rows_ */
    };

    void clear();

    std::vector<Slot> slots_;
    std::vector<char> bytes_;
    std::vector<int32_t> rows_, once_; /* once_: of a token that is not kept */
    size_t used_;
};

#endif
