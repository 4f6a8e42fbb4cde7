/* model_line.cc - see model_line.h. Facts of the format and the hashes are those of fastText 0.9.2
 * (MIT licence). */
#include "model_line.h"

#include <fasttext/args.h>
#include <fasttext/densematrix.h>

#include <cstring>
#include <string>

namespace
{

const size_t SLOTS = 65536;              /* of a cache */
const size_t WORDS_MOST = SLOTS / 4 * 3; /* tokens */
const size_t ROWS_MOST = 1 << 19;        /* their rows */
const size_t BYTES_MOST = 1 << 20;
const size_t LONGEST = 64;           /* bytes of a token that is kept */
const size_t VALUES_MOST = 32 << 20; /* floats of a quantised matrix in full */
const uint32_t SOME = 21;            /* 256 KiB of bits */

/* Dictionary::hash, one byte more. */
inline uint32_t step(uint32_t hash, char byte)
{
    return (hash ^ static_cast<uint32_t>(static_cast<int8_t>(byte))) * 16777619u;
}

const uint32_t EMPTY = 2166136261u;

/* Of a token, for the cache alone. */
inline uint64_t mix(const char *word, size_t n)
{
    uint64_t hash = n * 0x9E3779B97F4A7C15u;
    for (; n >= 8; word += 8, n -= 8) {
        uint64_t part;
        memcpy(&part, word, 8);
        hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    uint64_t part = 0;
    for (size_t i = 0; i < n; i++) {
        part |= static_cast<uint64_t>(static_cast<unsigned char>(word[i])) << (8 * i);
    }
    hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 29;
}

/* Where Dictionary::readWord ends a word. */
inline bool isSpace(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

inline bool continues(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

template <size_t DIM>
void addRows(const float *matrix, const int32_t *rows, size_t count, float *to)
{
    float sum[DIM];
    memcpy(sum, to, sizeof sum);
    for (size_t k = 0; k < count; k++) {
        const float *row = matrix + static_cast<size_t>(rows[k]) * DIM;
        for (size_t d = 0; d < DIM; d++) {
            sum[d] += row[d];
        }
    }
    memcpy(to, sum, sizeof sum);
}

} // namespace

Features::Features(const void *data, const struct model_facts &facts, const fasttext::Args &args,
                   std::shared_ptr<const fasttext::Dictionary> dictionary,
                   std::shared_ptr<const fasttext::Matrix> input)
    : dictionary_(std::move(dictionary)), input_(std::move(input)), known_(args.wordNgrams <= 1),
      words_(dictionary_->nwords()), minN_(args.minn), maxN_(args.maxn),
      buckets_(static_cast<uint32_t>(args.bucket)),
      inverse_(buckets_ == 0 ? 0 : UINT64_MAX / buckets_ + 1), pruned_(facts.pruned),
      dim_(static_cast<size_t>(args.dim)), rows_(nullptr)
{
    if (!known_) {
        return;
    }
    if (pruned_ > 0) {
        const char *pairs = static_cast<const char *>(data) + facts.pruned_at;
        size_t slots = 64;
        while (slots < 2 * static_cast<size_t>(pruned_)) {
            slots *= 2;
        }
        kept_.assign(slots, Kept{ 0, -1 });
        some_.assign(size_t(1) << SOME >> 6, 0);
        for (int64_t i = 0; i < pruned_; i++) {
            int32_t pair[2];
            memcpy(pair, pairs + 8 * i, sizeof pair);
            size_t at = static_cast<uint32_t>(pair[0]) * 0x9E3779B1u & (slots - 1);
            while (kept_[at].place >= 0 && kept_[at].hash != pair[0]) {
                at = (at + 1) & (slots - 1);
            }
            kept_[at] = Kept{ pair[0], pair[1] }; /* of two places the last one */
            uint32_t bit = static_cast<uint32_t>(pair[0]) & ((1u << SOME) - 1);
            some_[bit / 64] |= uint64_t(1) << (bit % 64);
        }
    }
    if (auto dense = dynamic_cast<const fasttext::DenseMatrix *>(input_.get())) {
        rows_ = dense->data();
        return;
    }
    size_t rows = static_cast<size_t>(input_->size(0));
    if (rows <= VALUES_MOST / dim_) {
        fasttext::Vector row(args.dim);
        values_.resize(rows * dim_);
        for (size_t i = 0; i < rows; i++) {
            row.zero();
            row.addRow(*input_, static_cast<int64_t>(i));
            memcpy(values_.data() + i * dim_, row.data(), dim_ * sizeof(float));
        }
        rows_ = values_.data();
    }
}

/* Dictionary::pushHash. */
void Features::addNgram(uint32_t hash, std::vector<int32_t> &rows) const
{
    /* hash % buckets_ (D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation",
     * 2019) */
    __extension__ typedef unsigned __int128 uint128;
    int32_t id = static_cast<int32_t>(static_cast<uint128>(inverse_ * hash) * buckets_ >> 64);
    if (pruned_ < 0) {
        if (id >= 0) {
            rows.push_back(words_ + id);
        }
        return;
    }
    uint32_t bit = static_cast<uint32_t>(id) & ((1u << SOME) - 1);
    if (pruned_ == 0 || (some_[bit / 64] >> (bit % 64) & 1) == 0) {
        return;
    }
    size_t mask = kept_.size() - 1, at = static_cast<uint32_t>(id) * 0x9E3779B1u & mask;
    for (; kept_[at].place >= 0; at = (at + 1) & mask) {
        if (kept_[at].hash == id) {
            rows.push_back(words_ + kept_[at].place);
            return;
        }
    }
}

/* Appends the rows of a word: Dictionary::addSubwords. */
void Features::find(const char *word, size_t n, std::vector<int32_t> &rows) const
{
    std::string token(word, n);
    int32_t id = dictionary_->getId(token);
    fasttext::entry_type type = id < 0 ? dictionary_->getType(token) : dictionary_->getType(id);
    if (type != fasttext::entry_type::word) {
        return;
    }
    if (id >= 0) {
        if (maxN_ <= 0) {
            rows.push_back(id);
        } else {
            const std::vector<int32_t> &subwords = dictionary_->getSubwords(id);
            rows.insert(rows.end(), subwords.begin(), subwords.end());
        }
        return;
    }
    if (token == fasttext::Dictionary::EOS || maxN_ <= 0) {
        return;
    }
    token.insert(0, fasttext::Dictionary::BOW);
    token += fasttext::Dictionary::EOW;
    for (size_t i = 0; i < token.size(); i++) {
        uint32_t hash = EMPTY;
        if (continues(token[i])) {
            continue;
        }
        size_t j = i;
        for (int32_t k = 1; j < token.size() && k <= maxN_; k++) {
            hash = step(hash, token[j++]);
            while (j < token.size() && continues(token[j])) {
                hash = step(hash, token[j++]);
            }
            if (k >= minN_ && !(k == 1 && (i == 0 || j == token.size()))) {
                addNgram(hash, rows);
            }
        }
    }
}

Features::Token Features::look(Cache &cache, const char *word, size_t n) const
{
    bool last = n == fasttext::Dictionary::EOS.size() &&
                memcmp(word, fasttext::Dictionary::EOS.data(), n) == 0;
    if (n > LONGEST) {
        cache.once_.clear();
        find(word, n, cache.once_);
        return Token{ cache.once_.data(), cache.once_.size(), last };
    }
    uint64_t hash = mix(word, n);
    size_t at = hash & (SLOTS - 1);
    for (; cache.slots_[at].length != 0; at = (at + 1) & (SLOTS - 1)) {
        const Cache::Slot &slot = cache.slots_[at];
        if (slot.hash == hash && slot.length == n &&
            memcmp(cache.bytes_.data() + slot.word, word, n) == 0) {
            return Token{ cache.rows_.data() + slot.rows, slot.count, last };
        }
    }
    if (cache.used_ == WORDS_MOST || cache.rows_.size() > ROWS_MOST ||
        cache.bytes_.size() > BYTES_MOST) {
        cache.clear();
        at = hash & (SLOTS - 1);
    }
    size_t rows = cache.rows_.size(), bytes = cache.bytes_.size();
    find(word, n, cache.rows_);
    cache.bytes_.insert(cache.bytes_.end(), word, word + n);
    cache.used_++;
    cache.slots_[at] = Cache::Slot{ hash, static_cast<uint32_t>(bytes), static_cast<uint32_t>(n),
                                    static_cast<uint32_t>(rows),
                                    static_cast<uint32_t>(cache.rows_.size() - rows) };
    return Token{ cache.rows_.data() + rows, cache.rows_.size() - rows, last };
}

/* Adds rows to hidden, one after the other: the order of the sums is the library's. */
void Features::add(const int32_t *rows, size_t count, fasttext::Vector &hidden) const
{
    if (rows_ == nullptr) {
        for (size_t k = 0; k < count; k++) {
            hidden.addRow(*input_, rows[k]);
        }
    } else if (dim_ == 16) {
        addRows<16>(rows_, rows, count, hidden.data());
    } else {
        float *to = hidden.data();
        for (size_t k = 0; k < count; k++) {
            const float *row = rows_ + static_cast<size_t>(rows[k]) * dim_;
            for (size_t d = 0; d < dim_; d++) {
                to[d] += row[d];
            }
        }
    }
}

size_t Features::mean(Cache &cache, const char *text, size_t n, fasttext::Vector &hidden) const
{
    size_t total = 0, at = 0;
    bool last = false;
    hidden.zero();
    while (!last && at < n) {
        size_t begin = at;
        Token token;
        while (at < n && !isSpace(text[at])) {
            at++;
        }
        if (at > begin) {
            token = look(cache, text + begin, at - begin);
        } else if (text[at] == '\n') {
            const std::string &end = fasttext::Dictionary::EOS;
            token = look(cache, end.data(), end.size());
        } else {
            at++;
            continue;
        }
        add(token.rows, token.count, hidden);
        total += token.count;
        last = token.last;
    }
    if (total > 0) {
        hidden.mul(static_cast<fasttext::real>(1.0 / static_cast<double>(total)));
    }
    return total;
}

Features::Cache::Cache() : slots_(SLOTS), used_(0)
{
}

void Features::Cache::clear()
{
    slots_.assign(SLOTS, Slot());
    bytes_.clear();
    rows_.clear();
    used_ = 0;
}
