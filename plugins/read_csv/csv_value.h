/* Values of fields: their types, and which type a column of texts has. Pure functions. */
#ifndef READ_CSV_VALUE_H
#define READ_CSV_VALUE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_csv
{

enum class Type : char {
    none = 'n', /* of a column without a value */
    text = 't',
    integer = 'i',
    real = 'r',
    boolean = 'b'
};

const char *type_name(Type type);                    /* utf8, int64, float64, bool */
bool type_named(const std::string &name, Type &out); /* also string, int, float */

/* true, false; True, False; TRUE, FALSE */
bool parse_boolean(std::string_view text, bool &out);
/* As JSON has them: a - or none, digits, no 0 in front. */
bool parse_integer(std::string_view text, std::int64_t &out);
/* Digits, with a fraction or exponent if it likes; no infinities. */
bool parse_real(std::string_view text, double &out);

/* The type that all texts seen have, none where there was no text; those that begin with 0 or +,
 * are too large for int64, or mixed are text. */
class Guess
{
  public:
    void see(std::string_view text);
    Type type() const;

  private:
    bool any_ = false, integer_ = true, real_ = true, boolean_ = true;
};

} /* namespace sluice_csv */

#endif
