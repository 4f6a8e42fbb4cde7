/* model.cc - see model.h. */
#include "model.h"

#include <cmath>
#include <istream>
#include <memory>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include <fasttext/fasttext.h>
#include <fasttext/loss.h>

#include <sluice_host.hpp>

#include "model_line.h"

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
        loss_ = createLoss(output_);
    }

    /* Reads what the library keeps to itself. */
    std::unique_ptr<const Features> features(const void *data,
                                             const struct model_facts &facts) const
    {
        return std::make_unique<const Features>(data, facts, *args_, dict_, input_);
    }

    fasttext::Model::State state() const
    {
        return fasttext::Model::State(args_->dim, dict_->nlabels(), 0);
    }

    /* All labels for a mean of rows: what Model::predict does behind it. */
    void judge(fasttext::Model::State &state, fasttext::Predictions &found) const
    {
        int32_t labels = static_cast<int32_t>(output_->size(0));
        found.reserve(static_cast<size_t>(labels) + 1);
        loss_->predict(labels, 0, found, state);
    }

  private:
    std::shared_ptr<fasttext::Loss> loss_;
};

} // namespace

struct ft_model {
    Classifier classifier;
    std::vector<std::string> labels;
    std::unique_ptr<const Features> features;
};

struct ft_reader {
    explicit ft_reader(const struct ft_model *from) : model(from), state(from->classifier.state())
    {
    }

    const struct ft_model *model;
    Features::Cache cache;
    fasttext::Model::State state;
    Bytes bytes;
    std::vector<int32_t> words, labels;
    fasttext::Predictions found;
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
    status = sluice::guarded(err, SLUICE_E_CONFIG, "model", [&] {
        model = new ft_model();
        Bytes bytes;
        bytes.set(static_cast<const char *>(data), n);
        std::istream in(&bytes);
        model->classifier.load(in);
        model->features = model->classifier.features(data, facts);
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
    return sluice::guarded(err, SLUICE_E_INTERNAL, "", [&] { *out = new ft_reader(model); });
}

void ft_reader_destroy(struct ft_reader *reader)
{
    delete reader;
}

/* What the library finds, word for word. */
static void predict_slowly(struct ft_reader *reader, const char *text, size_t n)
{
    auto dictionary = reader->model->classifier.getDictionary();
    reader->bytes.set(text, n);
    std::istream in(&reader->bytes);
    dictionary->getLine(in, reader->words, reader->labels);
    /* -1: all labels that a threshold of 0 leaves. */
    reader->model->classifier.predict(-1, reader->words, reader->found, 0);
}

static sluice_status predict(struct ft_reader *reader, const char *text, size_t n, bool slowly,
                             const struct ft_score **scores, size_t *n_scores,
                             struct sluice_error *err)
{
    sluice_status status = sluice::guarded(err, SLUICE_E_DATA, "", [&] {
        const struct ft_model *model = reader->model;
        reader->scores.clear();
        reader->found.clear();
        if (slowly || !model->features->known()) {
            predict_slowly(reader, text, n);
        } else if (model->features->mean(reader->cache, text, n, reader->state.hidden) > 0) {
            model->classifier.judge(reader->state, reader->found);
        }
        for (const auto &pair : reader->found) {
            reader->scores.push_back({ static_cast<size_t>(pair.second), std::exp(pair.first) });
        }
    });

    *scores = reader->scores.data();
    *n_scores = reader->scores.size();
    return status;
}

sluice_status ft_predict(struct ft_reader *reader, const char *text, size_t n,
                         const struct ft_score **scores, size_t *n_scores, struct sluice_error *err)
{
    return predict(reader, text, n, false, scores, n_scores, err);
}

sluice_status ft_predict_peer(struct ft_reader *reader, const char *text, size_t n,
                              const struct ft_score **scores, size_t *n_scores,
                              struct sluice_error *err)
{
    return predict(reader, text, n, true, scores, n_scores, err);
}
