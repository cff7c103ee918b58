#pragma once
// A measurement or a ratio as bytes: what the journal holds and what content hashes are taken of.
#include <string>
#include <string_view>
#include <vector>

#include "dataset/label_store.h"

namespace kc {

std::string encode(const Measurement& measurement);
// Error{bad_data} when the bytes are no record of a version that this program reads.
Measurement decode(std::string_view bytes);

// SHA-256 of each row's bytes with its source replaced by the source's SHA-256; measurements first. Equal rows have
// equal hashes.
std::vector<std::string> row_hashes(const Store& store);

// Store::content_hash: SHA-256 over row_hashes, joined, in order.
std::string content_hash_of(const std::vector<std::string>& row_hashes);

// Error{bad_data} when a name holds a NUL byte, which no table can keep.
void check_storable(const Measurement& measurement);

}  // namespace kc
