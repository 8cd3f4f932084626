#!/usr/bin/env bash
# The program for kcat; see require.go for the contract. kcat makes no topics: the
# broker does, when the first record comes.
set -euo pipefail

# Without -E kcat gives up at the first disconnect, and without the backoffs it
# waits up to ten seconds before it connects again.
kcat() {
  command kcat -b "$KAFKA_BOOTSTRAP_SERVERS" -E -X reconnect.backoff.ms=1 -X reconnect.backoff.max.ms=10 "$@"
}

records() { for ((n = 0; n < $1; n++)); do printf 'k-%d:value %d\n' "$n" "$n"; done; }

# told turns what kcat says of each delivery, which comes in order as long as one
# request is in flight, into lines of JSON. At a fatal error it ends, sometimes
# before it has told of every record.
told() {
  awk -v topic="$1" -v records="$2" '
    function failed(why) {
      printf "{\"topic\":\"%s\",\"n\":%d,\"partition\":-1,\"offset\":-1,\"error\":\"%s\"}\n", topic, n++, why
    }
    /Message delivered to partition/ {
      gsub(/[()]/, "")
      printf "{\"topic\":\"%s\",\"n\":%d,\"partition\":%d,\"offset\":%d}\n", topic, n++, $6, $8
    }
    /Delivery failed for message/ {
      sub(/.*Delivery failed for message: /, ""); gsub(/"/, "")
      failed($0)
    }
    END { while (n < records) failed("kcat has ended") }'
}

produce() {
  IFS=, read -r topic records codec batch mode <<<"$1"
  local idempotent=false
  [ "$mode" = idempotent ] && idempotent=true
  records "$records" | kcat -P -t "$topic" -K: -H from=matrix -z "$codec" -vvv \
    -X enable.idempotence=$idempotent -X batch.num.messages="$batch" -X linger.ms=20 -X retry.backoff.ms=10 \
    -X max.in.flight=1 -X message.timeout.ms=20000 2>&1 | told "$topic" "$records" || true
}

consume() {
  local line='{"topic":"%t","partition":%p,"offset":%o,"key":"%k","header":"%h"}\n'
  command kcat -b "$KAFKA_BOOTSTRAP_SERVERS" -G "$2" -X auto.offset.reset=earliest -X auto.commit.interval.ms=100 \
    -E -u -q -f "$line" "$1" </dev/null > >(sed -u 's/"header":"from=/"header":"/') &
  cat >/dev/null
  kill $!
  wait
}

administer() {
  kcat -P -t "$1" <<<"the first record" 2>/dev/null
  local described listed
  described=$(command kcat -b "$KAFKA_BOOTSTRAP_SERVERS" -L)
  listed=$(sed -n 's/^ *topic \("[^"]*"\) with .*/\1/p' <<<"$described" | paste -sd,)
  printf '{"version":"%s","listed":[%s],"partitions":%d}\n' \
    "$(command kcat -V | sed -n 's/^Version \([0-9.]*\) (.*librdkafka \([0-9.]*\).*/\1 (librdkafka \2)/p')" \
    "$listed" "$(sed -n "s/^ *topic \"$1\" with \([0-9]*\) partitions.*/\1/p" <<<"$described")"
}

case $1 in
  produce) for job in "${@:2}"; do produce "$job"; done ;;
  consume) consume "$2" "$3" ;;
  admin) administer "$2" ;;
esac
