#include "collectives/meeting.h"

#include <algorithm>
#include <utility>

#include "transport/ranks_text.h"

namespace ronde::inline v0 {
namespace {

constexpr char kSeparator = '\n';  // of a record's fields; the last one may contain it

// Ranks that bring the same.
struct Party {
  const Record* record;
  std::vector<int> ranks;
  std::vector<int> in_world;  // the same, for people
};

bool is_same(const Record& a, const Record& b) {
  return a.kind == b.kind && a.verb == b.verb && a.name == b.name && a.text == b.text;
}

std::vector<Party> parties_of(const std::vector<Record>& records, const std::vector<int>& world) {
  std::vector<Party> parties;
  for (std::size_t r = 0; r < records.size(); ++r) {
    const auto same = std::find_if(parties.begin(), parties.end(),
                                   [&](const Party& party) { return is_same(*party.record, records[r]); });
    Party& party = same == parties.end() ? parties.emplace_back(Party{&records[r], {}, {}}) : *same;
    party.ranks.push_back(static_cast<int>(r));
    party.in_world.push_back(world[r]);
  }
  return parties;
}

// Whether f gives the same for all.
template <class F>
bool is_common(const std::vector<Party>& parties, F&& f) {
  return std::all_of(parties.begin(), parties.end(),
                     [&](const Party& party) { return f(*party.record) == f(*parties.front().record); });
}

// "rank 0 calls allreduce(sum, f32 (64,)), ranks 1-3 call barrier()"
std::string calls_of(const std::vector<Party>& parties, const std::string& common_name) {
  std::string text;
  for (const Party& party : parties) {
    const Record& record = *party.record;
    if (record.kind == Record::Kind::objection) continue;
    text += cat(text.empty() ? "" : ", ", ranks_text(party.in_world),
                party.ranks.size() == 1 ? " calls " : " call ");
    if (record.kind == Record::Kind::done) {
      text += "nothing more (it is done)";
      continue;
    }
    const bool is_named = record.name != common_name;
    text += cat(record.verb, is_named ? cat(" '", record.name, "' ") : "", '(', record.text, ')');
  }
  return text;
}

// "[allreduce] got an undefined tensor (rank 2; ranks 0, 1 call allreduce(sum, f32 (64,)))"
std::string objection_text(const std::vector<Party>& parties, const Party& first) {
  if (parties.size() == 1) return first.record->text;
  const std::string calls = calls_of(parties, "");
  return cat(first.record->text, " (", ranks_text(first.in_world), calls.empty() ? "" : "; ", calls, ')');
}

std::pair<bool, int> order_of(const Record& failure) {
  return {failure.kind == Record::Kind::follower, failure.rank};
}

}  // namespace

std::string Record::pack() const {
  return cat(static_cast<char>(kind), rank, kSeparator, status, kSeparator, verb, kSeparator, name.size(),
             kSeparator, name, text);
}

Record Record::unpack(const std::string& packed) {
  std::size_t begin = 1;
  const auto next = [&] {
    const std::size_t end = packed.find(kSeparator, begin);
    const std::string field = packed.substr(begin, end - begin);
    begin = end + 1;
    return field;
  };
  Record record{.kind = static_cast<Kind>(packed.front())};
  record.rank = std::stoi(next());
  record.status = std::stoi(next());
  record.verb = next();
  const auto name_size = static_cast<std::size_t>(std::stoull(next()));
  record.name = packed.substr(begin, name_size);
  record.text = packed.substr(begin + name_size);
  return record;
}

Record objection(Record record, int rank, const std::string& text, ExitStatus status) {
  record.kind = Record::Kind::objection;
  record.rank = rank;
  record.status = static_cast<std::int32_t>(status);
  record.text = text;
  return record;
}

std::vector<Record> exchange(Transport& transport, const Record& own) {
  const std::string packed = own.pack();
  const auto size = static_cast<std::size_t>(transport.place().size);
  const auto length = static_cast<std::int64_t>(packed.size());
  std::vector<std::int64_t> lengths(size);
  transport.allgatherv(lengths.data(), &length, std::vector<std::int64_t>(size, sizeof length));
  std::size_t total = 0;
  for (const std::int64_t l : lengths) total += static_cast<std::size_t>(l);
  std::string all(total, '\0');
  transport.allgatherv(all.data(), packed.data(), lengths);
  std::vector<Record> records;
  std::size_t begin = 0;
  for (const std::int64_t l : lengths) {
    records.push_back(Record::unpack(all.substr(begin, static_cast<std::size_t>(l))));
    begin += static_cast<std::size_t>(l);
  }
  return records;
}

const Record* failure_in(const std::vector<Record>& records) {
  const Record* first = nullptr;
  for (const Record& record : records) {
    const bool is_failure = record.kind == Record::Kind::failure || record.kind == Record::Kind::follower;
    if (is_failure && (!first || order_of(record) < order_of(*first))) first = &record;
  }
  return first;
}

CollectiveError disagreement_in(const std::vector<Record>& records, const std::vector<int>& world) {
  const std::vector<Party> parties = parties_of(records, world);
  const auto objection = std::find_if(parties.begin(), parties.end(), [](const Party& party) {
    return party.record->kind == Record::Kind::objection;
  });
  if (objection != parties.end()) {
    return CollectiveError(objection_text(parties, *objection),
                           static_cast<ExitStatus>(objection->record->status), objection->ranks.front(),
                           objection->in_world.front());
  }
  const bool same_verb = is_common(parties, [](const Record& record) { return record.verb; });
  const bool same_name = is_common(parties, [](const Record& record) { return record.name; });
  const Record& first = *parties.front().record;
  const std::string common_name = same_name ? first.name : "";
  // The fewest are called the odd ones; of two equal parties, the second.
  const auto odd = std::min_element(parties.rbegin(), parties.rend(), [](const Party& a, const Party& b) {
    return a.ranks.size() < b.ranks.size();
  });
  return CollectiveError(cat('[', same_verb ? first.verb : "distributed", ']',
                             common_name.empty() ? " " : cat(" '", common_name, "': "),
                             "ranks disagree: ", calls_of(parties, common_name)),
                         ExitStatus::failure, odd->ranks.front(), odd->in_world.front());
}

}  // namespace ronde::inline v0
