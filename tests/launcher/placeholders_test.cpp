// SPDX-License-Identifier: BSD-3-Clause
// What a report must not tell, and that it stays readable.
#include "launcher/ask/placeholders.hpp"

#include <gtest/gtest.h>

#include <string>

#include "launcher/ask/secret_looks.hpp"

namespace tutti::launcher {
namespace {

Placeholders of_alice() {
  Placeholders out;
  out.host("node7.cluster.example");
  out.user("alice");
  out.home("/home/alice");
  out.secret("hunter2!");
  return out;
}

TEST(Placeholders, HostsAreReplacedByTheSameWordWhereverTheyStand) {
  Placeholders hide = of_alice();
  hide.host("login");
  EXPECT_EQ(hide("rank 3 on node7 (./a.out)"), "rank 3 on HOST-1 (./a.out)");
  EXPECT_EQ(hide("NODE7, node7.cluster.example:22"), "HOST-1, HOST-1:22");
  EXPECT_EQ(hide("login: node7"), "HOST-2: HOST-1");
  EXPECT_EQ(hide("other.cluster.example"), "other.DOMAIN");
  EXPECT_EQ(hide("Login or logins"), "Login or logins");  // a word of the language, and another one
}

TEST(Placeholders, NodesOfARowAreHosts) {
  Placeholders hide = of_alice();
  EXPECT_EQ(hide("node12 waits for node7, node12 for node8"), "HOST-2 waits for HOST-1, HOST-2 for HOST-3");
  EXPECT_EQ(hide("a node, nodes, node7x"), "a node, nodes, node7x");
}

TEST(Placeholders, UsersAndHomesAreReplaced) {
  Placeholders hide = of_alice();
  EXPECT_EQ(hide("/home/alice/src:-I/home/alice /scratch/alice/x"), "HOME/src:-IHOME /scratch/USER/x");
  EXPECT_EQ(hide("/home/bob/lib and bob_data"), "/home/USER-2/lib and USER-2_data");
  EXPECT_EQ(hide("/home/alice2/x"), "/home/USER-3/x");
  EXPECT_EQ(hide("malice and alices"), "malice and alices");
  EXPECT_EQ(hide("root"), "root");
}

TEST(Placeholders, HostBehindAUserIsReplaced) {
  Placeholders hide = of_alice();
  EXPECT_EQ(hide("ssh alice@gateway; gateway"), "ssh USER@HOST-2; HOST-2");
}

TEST(Placeholders, AddressesAreReplaced) {
  Placeholders hide;
  EXPECT_EQ(hide("10.0.0.5:4242, tcp://10.0.0.5/ and 10.0.0.6."), "ADDR-1:4242, tcp://ADDR-1/ and ADDR-2.");
  EXPECT_EQ(hide("fe80::5054:ff:fe12:3456%eth0"), "ADDR-3%eth0");
  EXPECT_EQ(hide("link 52:54:00:12:34:56, 52-54-00-12-34-57"), "link ADDR-4, ADDR-5");
  EXPECT_EQ(hide("guid 0c42:a103:0065:1234"), "guid ADDR-6");
  EXPECT_EQ(hide("2001:db8::1 10.0.0.0/24"), "ADDR-7 ADDR-8/24");
  EXPECT_EQ(hide("tcp:10.0.0.5:4242 inet addr:10.0.0.6 node:10.0.0.5."),
            "tcp:ADDR-1:4242 inet addr:ADDR-2 node:ADDR-1.");
}

TEST(Placeholders, WhatIsNoAddressStays) {
  Placeholders hide;
  for (const char* text :
       {"127.0.0.1 ::1 0.0.0.0", "6.1.0-28-amd64", "12:34:56", "std::string", "a.c:12: error", "0000:00:1f.2",
        "libpmix.so.2.9.3", "PMIx 4.2.2, UCX 1.13.1", "at 0x7f001234abcd", "ranks 0-3, 5", "cafe::init"})
    EXPECT_EQ(hide(text), text);
}

TEST(Placeholders, KnownSecretsAreHiddenWhereverTheyStand) {
  Placeholders hide = of_alice();
  EXPECT_EQ(hide("argument 'hunter2!' is wrong"), "argument '(left out)' is wrong");
}

TEST(SecretLooks, ValuesOfNamesThatSaySoAreLeftOut) {
  EXPECT_EQ(without_secret_looks("mpirun -x DB_PASSWORD=abc -n 2 ./a.out --token xyz input"),
            "mpirun -x DB_PASSWORD=(left out) -n 2 ./a.out --token (left out) input");
  EXPECT_EQ(without_secret_looks("password: abc\n{\"api_key\": \"d e f\"}"),
            "password: (left out)\n{\"api_key\": (left out)}");
  EXPECT_EQ(without_secret_looks("Authorization: Bearer abc def"), "Authorization: Bearer (left out) def");
  EXPECT_EQ(without_secret_looks("https://alice:abc@host/x ssh://host/"), "https://(left out)@host/x ssh://host/");
}

TEST(SecretLooks, WordsMadeByChanceAreLeftOut) {
  EXPECT_EQ(without_secret_looks("id ghp_abcdefghijklmnop, "), "id (left out), ");
  EXPECT_EQ(without_secret_looks("x=f3a9c01b77de42a8b6c5d4e3f2a1b0c9"), "x=(left out)");
  EXPECT_EQ(without_secret_looks("a\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nb"),
            "a\n(left out)\nb");
}

TEST(SecretLooks, WhatIsNoSecretStays) {
  for (const char* text :
       {"job a5276998eaa1: stuck", "PWD=/tmp", "MPI_Allreduce(1 of MPI_DOUBLE, MPI_SUM)", "x86_64-linux-gnu",
        "TUTTI_TRANSPORT_SHARED_MEMORY=off", "the password is wrong", "process.connect_timeout: 10min",
        "libopen-rte.so.40.30.2", "key", "_ZN5tutti8launcher12command_lineERKSt6vectorI"})
    EXPECT_EQ(without_secret_looks(text), text);
}

TEST(SecretLooks, CommandsAreShownWithoutValues) {
  EXPECT_EQ(without_values("sshpass -p hunter2 ssh"), "sshpass -p … …");
  EXPECT_EQ(without_values("sshpass -phunter2 ssh --key=x"), "sshpass -p… … --key=…");
  EXPECT_EQ(without_values("ssh"), "ssh");
}

}  // namespace
}  // namespace tutti::launcher
