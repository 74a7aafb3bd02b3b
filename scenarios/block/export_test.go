package block

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// MeasureFloor measures both halves of a floor of clients that hold so long, with nothing in between.
func MeasureFloor(ctx context.Context, servers []ensemble.Server, root string, hold time.Duration) results.Floor {
	f := newFloorMeter(FloorMostRounds, variants.Recipe{}, pool.Config{Servers: servers, Root: root}, hold)
	f.before(ctx)
	f.floor.After = f.half(ctx)
	f.close(context.WithoutCancel(ctx))
	return f.floor
}
