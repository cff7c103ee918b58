#pragma once
// What Config and its sections share. Private to base.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/config_document.h"

namespace kc {

struct ConfigDeclaration {
  std::string key;   // dotted
  std::string type;  // "integer", "list of numbers", "one of a | b"
  std::string fallback;
  std::string value;  // both as YAML
  KeyDoc doc;
};

struct ConfigFault {
  ConfigPlace place;
  std::string message;
};

struct Config::Impl {
  std::string name;
  std::string file;  // for messages about keys that stand nowhere
  ConfigDocument document;
  std::vector<ConfigDeclaration> declarations;  // in the order of reading
  std::vector<ConfigFault> faults;
  std::vector<std::string> ignored;

  // The first declaration of a key stays; Error{internal} when a key is a section elsewhere.
  void declare(ConfigDeclaration declaration);
  bool is_declared(const std::string& key) const;
  // Where the key stands, or the file as a whole.
  ConfigPlace place_of(const std::string& key) const;
  void add_fault(const ConfigPlace& place, const std::string& message);
  // One fault for each value that no reader asked for.
  std::vector<ConfigFault> unread() const;
};

// As YAML that loads again to the same value.
std::string yaml_text(std::int64_t value);
std::string yaml_text(double value);
std::string yaml_text(bool value);
std::string yaml_text(const std::string& value);

// ", at least 0", ", from 0 to 1", "" without limits.
std::string range_text(const KeyDoc& doc);

}  // namespace kc
