// A port at which processes of a test can meet.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

// Returns a port that was free a moment ago.
inline int free_port() {
  int const s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  bool const bound = bind(s, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0
                     && getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  close(s);
  return bound ? ntohs(at.sin_port) : 0;
}
