// A table of what names of programs and of their arguments tell; the Python package reads it, too.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// Why a program starts no training, or trains another model than a decoder, as pretrain_vlm.py does;
// empty: it is of no such kind. `program`: a file.
std::string why_other_program(std::string_view program);

// Whether it trains at all; whether it trains an encoder; or an encoder and a decoder.
bool may_train(std::string_view program);
bool trains_encoder(std::string_view program);
bool trains_encoder_decoder(std::string_view program);

// Whether the name of an argument that nobody knows tells of a size or a part of a model. It has
// underscores.
bool tells_of_model(std::string_view argument);

}  // namespace tool
