#!/bin/sh
# Makes an operator of NATS with one account for a group of nodes, a user for each node, and one for the person who drains.
# It needs nsc (https://docs.nats.io/using-nats/nats-tools/nsc), and runs on a machine that is none of the nodes: the keys
# that it makes can make users. docs/cluster.md has the same rights as a table, and the reasons.
#
#   sh accounts.sh ptyctl node-1 node-2 node-3
#   sh accounts.sh ptyctl node-4                # later: only its user is made, and the servers need nothing new
set -euf
umask 077
group=$1
shift

# rights prints the rights of a node, or of "operator", from the page that a test runs nodes with.
rights() {
  sed -n "/^<!-- rights:$1 -->/,/^<!-- \\/rights -->/p" "$(dirname "$0")/../../docs/cluster.md"
}

# user adds a user: $1 its name, $2 "node" or "operator".
user() {
  set -- "$1" "$2" "$(rights "$2" | sed -n 's/^publish //p' | tr '\n' ' ')" "$(rights "$2" | sed -n 's/^subscribe //p' | tr '\n' ' ')"
  publish=$(expand "$3" "$1")
  subscribe=$(expand "$4" "$1")
  nsc add user --account "$group" --name "$1" --allow-pub "$publish" --allow-sub "$subscribe"
  nsc generate creds --account "$group" --name "$1" >"$1.creds"
}

# expand prints subjects with commas between them: braces are expanded, GROUP and NODE replaced.
expand() {
  for subject in $1; do
    case $subject in
    *"{"*"}"*)
      head=${subject%%"{"*} rest=${subject#*"{"}
      tail=${rest#*"}"}
      for word in $(echo "${rest%%"}"*}" | tr ',' ' '); do
        echo "$head$word$tail"
      done
      ;;
    *) echo "$subject" ;;
    esac
  done | sed "s/GROUP/$group/g; s/NODE/$2/g" | paste -s -d, -
}

if ! nsc describe account --name "$group" >/dev/null 2>&1; then
  nsc add operator --name ptyctl-operator --sys
  nsc add account --name "$group"
  # A server with a smaller max_file in nats.conf does not let the account use JetStream.
  nsc edit account --name "$group" --js-disk-storage 1G --js-mem-storage 0 --js-streams 6 --js-consumer -1
  user operator operator
  nsc generate config --mem-resolver --config-file operator.conf
fi
for node in "$@"; do
  user "$node" node
done
