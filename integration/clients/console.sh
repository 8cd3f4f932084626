#!/usr/bin/env bash
# The program for Kafka's console tools; see require.go for the contract. The
# console producer tells no offsets, and of failures only in its log.
set -euo pipefail

# tool CLASS ARG... runs one of the tools, whose jars are in $TOOLS.
tool() {
  $instead java -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$TOOLS/*" \
    "org.apache.kafka.tools.$1" --bootstrap-server "$KAFKA_BOOTSTRAP_SERVERS" "${@:2}"
}
instead=

records() { for ((n = 0; n < $1; n++)); do printf 'from:matrix\tk-%d:value %d\n' "$n" "$n"; done; }

# A batch is filled by bytes: a record takes about 30, and each batch 61.
produce() {
  IFS=, read -r topic records codec batch mode <<<"$1"
  local idempotent=false failed
  [ "$mode" = idempotent ] && idempotent=true
  failed=$(records "$records" | tool ConsoleProducer --topic "$topic" --compression-codec "$codec" \
    --batch-size $((61 + 30 * batch)) --reader-property parse.key=true --reader-property key.separator=: \
    --reader-property parse.headers=true --command-property enable.idempotence=$idempotent \
    --command-property reconnect.backoff.ms=1 --command-property reconnect.backoff.max.ms=10 \
    --command-property retry.backoff.ms=10 2>&1 | grep -c ERROR || true)
  if [ "$failed" -eq 0 ]; then
    for ((n = 0; n < records; n++)); do printf '{"topic":"%s","n":%d,"partition":0,"offset":-1}\n' "$topic" "$n"; done
  fi
}

# consume is ended with a signal when the input ends.
consume() {
  local p=--formatter-property
  instead=exec # so that it is the one to get the signal
  tool consumer.ConsoleConsumer --topic "$1" --group "$2" --command-property auto.offset.reset=earliest \
    --command-property "group.protocol=${GROUP_PROTOCOL:-classic}" --command-property auto.commit.interval.ms=100 \
    $p print.partition=true $p print.offset=true $p print.headers=true $p print.key=true $p print.value=false </dev/null \
    > >(sed -un "s/^Partition:\([0-9]*\)\tOffset:\([0-9]*\)\tfrom:\([^\t]*\)\t\(.*\)$/{\"topic\":\"$1\",\"partition\":\1,\"offset\":\2,\"key\":\"\4\",\"header\":\"\3\"}/p") &
  cat >/dev/null
  kill $!
  wait
}

administer() {
  tool TopicCommand --create --topic "$1" --partitions 3 >/dev/null
  local listed described
  listed=$(tool TopicCommand --list | sed 's/.*/"&"/' | paste -sd,)
  described=$(tool TopicCommand --describe --topic "$1")
  printf '{"version":"%s","listed":[%s],"partitions":%d}\n' \
    "$(basename "$TOOLS"/kafka-tools-[0-9]*.jar .jar | sed 's/kafka-tools-//')" "$listed" "$(grep -c 'Leader: 1' <<<"$described")"
}

case $1 in
  produce) for job in "${@:2}"; do produce "$job"; done ;;
  consume) consume "$2" "$3" ;;
  admin) administer "$2" ;;
  tool) tool "${@:2}" ;; # any of the others: CLASS ARG...
esac
