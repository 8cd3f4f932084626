// Command order-service writes orders to the broker in KAFKA_BOOTSTRAP_SERVERS,
// each with its own key, and waits until each is acknowledged. It ends with 1 if
// one is not. The argument says how many orders, 10 unless said.
// IDEMPOTENCE=false takes the producer's idempotence away.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	orders := 10
	if len(os.Args) > 1 {
		orders, _ = strconv.Atoi(os.Args[1])
	}
	var options []kgo.Opt
	if os.Getenv("IDEMPOTENCE") == "false" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if err := run(context.Background(), os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), orders, options...); err != nil {
		fmt.Fprintf(os.Stderr, "not every order was acknowledged: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%d orders placed\n", orders)
}

// run places orders with a producer of its own.
func run(ctx context.Context, bootstrap string, orders int, options ...kgo.Opt) error {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	return place(ctx, client, orders)
}

// place writes the orders. The error says that one was not acknowledged.
func place(ctx context.Context, client *kgo.Client, orders int) error {
	for n := range orders {
		order := kgo.KeyStringRecord(fmt.Sprintf("o-%d", n), fmt.Sprintf("order %d", n))
		order.Topic = "orders"
		if err := client.ProduceSync(ctx, order).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}
