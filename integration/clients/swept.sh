#!/bin/sh
# Runs the program that is named by the arguments, then reads the topic orders
# back with kcat and leaves the keys that stand in it in $KEPT/CELL, so that a
# test can judge for itself. Ends as the program did.
"$@"
code=$?
# A request that was held back is carried out after the program has given it up.
case $FENCEPOST_CELL in */delay/*) sleep "$HELD_BACK" ;; esac
kcat -b "$KAFKA_BOOTSTRAP_SERVERS" -C -t orders -o beginning -e -q -f '%k\n' \
  >"$KEPT/$(echo "$FENCEPOST_CELL" | tr / _)" 2>/dev/null || true
exit $code
