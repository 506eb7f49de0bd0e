// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/connect.hpp"

#include <algorithm>
#include <utility>

#include "lib/comm/folder_links.hpp"
#include "lib/comm/network.hpp"
#include "lib/comm/tcp_links.hpp"

namespace leat::server {
namespace {

// A server on a busy machine may be late by so much, whatever the timeout is.
constexpr std::int64_t kLeastPatienceNs = 3'000'000'000;

// Less than the timeout, so that ranks which wait for memory get it.
std::int64_t patience_ns(const Run& run) {
  return std::max(kLeastPatienceNs, run.timeout_ns() / 4 * 3);
}

std::int64_t silence_ns(const Run& run) { return patience_ns(run) / 3; }

// Nobody is waited for longer than `silence` and `give_up` together. The second is longer: several servers may have to be tried, one
// after the other, until one is found that lives.
comm::MemberSettings member_settings(const Run& run, const ConnectParts& parts) {
  comm::MemberSettings settings;
  settings.self = parts.meeting.self;
  settings.size = parts.meeting.size();
  settings.silence_ns = silence_ns(run);
  settings.give_up_ns = patience_ns(run) - silence_ns(run);
  settings.start_ns = silence_ns(run);
  settings.resume = parts.resume;
  return settings;
}

comm::Links::Settings link_settings(const Run& run, const comm::Meeting& meeting) {
  return {.self = meeting.self,
          .size = meeting.size(),
          .run = meeting.run,
          .silence_ns = silence_ns(run)};
}

Result<std::unique_ptr<comm::Links>> links_by_tcp(const Run& run, ConnectParts* parts) {
  Result<comm::Credential> credential = comm::Credential::from_text(parts->meeting.credential);
  if (!credential) return credential.error();
  auto links = std::make_unique<comm::TcpLinks>(link_settings(run, parts->meeting), *credential);
  links->adopt(std::move(parts->listening));
  links->set_cards(parts->meeting.cards);
  return std::unique_ptr<comm::Links>(std::move(links));
}

Result<std::unique_ptr<comm::Links>> links_by_folder(const Run& run, const ConnectParts& parts) {
  Result<std::unique_ptr<comm::FolderLinks>> links =
      comm::FolderLinks::open(link_settings(run, parts.meeting), parts.folder);
  if (!links) return links.error();
  return std::unique_ptr<comm::Links>(std::move(*links));
}

std::unique_ptr<comm::Group> alone(const ConnectParts& parts, std::string why) {
  const comm::Rank size = std::max(1, parts.meeting.size());
  const std::int64_t known = parts.resume ? parts.resume->known : 0;
  auto group = std::make_unique<comm::OneServer>(parts.meeting.self, size, std::move(why), known);
  if (parts.resume)
    for (const auto& [round, columns] : parts.resume->contributions)
      group->contribute(round, columns);
  return group;
}

}  // namespace

std::unique_ptr<comm::Group> connect(const Run& run, ConnectParts parts,
                                     std::function<void()> wake) {
  if (parts.carrier == model::Carrier::none) return alone(parts, parts.why_alone);
  Result<std::unique_ptr<comm::Links>> links = parts.carrier == model::Carrier::tcp
                                                   ? links_by_tcp(run, &parts)
                                                   : links_by_folder(run, parts);
  if (!links) return alone(parts, links.error().message);
  return std::make_unique<comm::Network>(member_settings(run, parts), std::move(*links),
                                         std::move(wake));
}

}  // namespace leat::server
