/* model.cc - see model.h. */
#include "model.h"

#include <cmath>
#include <exception>
#include <istream>
#include <new>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include <fasttext/fasttext.h>

#include <sluice_arrays.h>

extern "C" {
#include "model_check.h"
}

namespace
{

/* Bytes as a stream, not copied. */
class Bytes : public std::streambuf
{
  public:
    void set(const char *data, size_t n)
    {
        char *begin = const_cast<char *>(data);
        setg(begin, begin, begin + n);
    }
};

class Classifier : public fasttext::FastText
{
  public:
    void load(std::istream &in)
    {
        if (!checkModel(in)) {
            throw std::invalid_argument("it has the wrong file format");
        }
        loadModel(in);
    }
};

/* Runs work, whatever it throws. */
template <typename Work>
sluice_status guard(struct sluice_error *err, sluice_status code, const char *field, Work work)
{
    try {
        work();
        return SLUICE_OK;
    } catch (const std::bad_alloc &) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the fastText model");
    } catch (const std::length_error &) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the fastText model");
    } catch (const std::exception &e) {
        return sluice_fail(err, code, field, e.what());
    } catch (...) {
        return sluice_fail(err, SLUICE_E_INTERNAL, field, "libfasttext failed without a reason");
    }
}

} // namespace

struct ft_model {
    Classifier classifier;
    std::vector<std::string> labels;
};

struct ft_reader {
    const struct ft_model *model;
    Bytes bytes;
    std::vector<int32_t> words, labels;
    std::vector<std::pair<fasttext::real, int32_t>> found;
    std::vector<struct ft_score> scores;
};

sluice_status ft_model_load(const void *data, size_t n, struct ft_model **out,
                            struct sluice_error *err)
{
    struct model_facts facts;
    struct ft_model *model = nullptr;
    sluice_status status = model_check(data, n, &facts, err);

    *out = nullptr;
    if (status != SLUICE_OK) {
        return status;
    }
    status = guard(err, SLUICE_E_CONFIG, "model", [&] {
        model = new ft_model();
        Bytes bytes;
        bytes.set(static_cast<const char *>(data), n);
        std::istream in(&bytes);
        model->classifier.load(in);
        auto dictionary = model->classifier.getDictionary();
        for (int32_t i = 0; i < dictionary->nlabels(); i++) {
            model->labels.push_back(dictionary->getLabel(i));
        }
    });
    if (status != SLUICE_OK) {
        delete model;
        return status;
    }
    *out = model;
    return SLUICE_OK;
}

void ft_model_destroy(struct ft_model *model)
{
    delete model;
}

size_t ft_model_labels(const struct ft_model *model)
{
    return model->labels.size();
}

const char *ft_model_label(const struct ft_model *model, size_t i)
{
    return model->labels[i].c_str();
}

sluice_status ft_reader_create(const struct ft_model *model, struct ft_reader **out,
                               struct sluice_error *err)
{
    *out = nullptr;
    return guard(err, SLUICE_E_INTERNAL, "", [&] {
        *out = new ft_reader();
        (*out)->model = model;
    });
}

void ft_reader_destroy(struct ft_reader *reader)
{
    delete reader;
}

sluice_status ft_predict(struct ft_reader *reader, const char *text, size_t n,
                         const struct ft_score **scores, size_t *n_scores, struct sluice_error *err)
{
    sluice_status status = guard(err, SLUICE_E_DATA, "", [&] {
        auto dictionary = reader->model->classifier.getDictionary();
        reader->scores.clear();
        reader->found.clear();
        reader->bytes.set(text, n);
        std::istream in(&reader->bytes);
        dictionary->getLine(in, reader->words, reader->labels);
        /* -1: all labels that a threshold of 0 leaves. */
        reader->model->classifier.predict(-1, reader->words, reader->found, 0);
        for (const auto &pair : reader->found) {
            reader->scores.push_back({ static_cast<size_t>(pair.second), std::exp(pair.first) });
        }
    });

    *scores = reader->scores.data();
    *n_scores = reader->scores.size();
    return status;
}
