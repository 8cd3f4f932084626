module github.com/fencepostmq/fencepost/integration/clients/sarama

go 1.26.0

require github.com/IBM/sarama v1.61.1
