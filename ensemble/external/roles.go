package external

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/ensemble"
)

// checkRoles returns an error if the reported roles do not form one working ensemble. Two leaders, or two standalone servers, may be
// one server under two addresses, which the trial detects.
func checkRoles(peers []peer) error {
	var errs []error
	var alone, joined *peer
	led := false
	for i, p := range peers {
		switch p.status.Role {
		case ensemble.ReadOnly:
			errs = append(errs, fmt.Errorf("%s is read-only: it has lost the majority of its ensemble and refuses writes: "+
				"start the missing servers, or repair the network between them", p.Name))
		case ensemble.Standalone:
			alone = &peers[i]
		case ensemble.Leader, ensemble.Follower, ensemble.Observer:
			joined = &peers[i]
			led = led || p.status.Role == ensemble.Leader
		default:
			errs = append(errs, fmt.Errorf("%s plays an unknown role (Mode: %s): give servers that lead, follow, observe or stand alone",
				p.Name, p.status.Role))
		}
	}
	if alone != nil && joined != nil {
		errs = append(errs, Mistake{fmt.Errorf("%s stands alone, but %s is a %s of an ensemble: give servers of one ensemble only",
			alone.Name, joined.Name, joined.status.Role)})
	}
	if len(errs) == 0 && joined != nil && !led {
		errs = append(errs, Mistake{errors.New("none of these servers is the leader: give every server of the ensemble, " +
			"so that a change of leader, which makes a measurement void, can be seen")})
	}
	return errors.Join(errs...)
}

// spareConnections is the most connections to one server that a run opens besides those of its clients: for the bystander, the session
// that owns the root, and four-letter commands.
const spareConnections = 8

// checkLimits returns an error if a server reports that it allows fewer connections from one address than the clients need. clients is
// zero if their number is unknown.
func checkLimits(peers []peer, clients int) error {
	if clients == 0 {
		return nil
	}
	var errs []error
	for i, p := range peers {
		limit, err := strconv.Atoi(p.config["maxClientCnxns"])
		if err != nil || limit <= 0 {
			continue
		}
		own := (clients + len(peers) - 1 - i) / len(peers) // clients are assigned in turn
		if own+spareConnections > limit {
			errs = append(errs, Mistake{fmt.Errorf("%s allows %d connections from one address (maxClientCnxns), "+
				"but %d clients need %d there: raise the limit (0 is none), or ask for fewer clients",
				p.Name, limit, clients, own+spareConnections)})
		}
	}
	return errors.Join(errs...)
}
