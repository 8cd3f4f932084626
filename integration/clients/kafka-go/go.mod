module github.com/fencepostmq/fencepost/integration/clients/kafka-go

go 1.26.0

require github.com/segmentio/kafka-go v0.4.51
