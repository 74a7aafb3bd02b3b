package observe

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/list"
)

// leastEvidence is how often each step of a recipe must have been seen.
const leastEvidence = 3

// rule names a recipe, or one of its variants, by what sessions do to a znode or in a directory.
type rule struct {
	variant string
	equal   string // what cannot be told apart from it
	better  string // a variant of the same recipe, which may cost less
	roles   []role // that were seen often enough
	when    []condition
}

// condition is about a family, and the evidence about its znode or about the znodes in it.
type condition func(f *family, e *evidence) bool

type (
	does []role
	when []condition
)

// directoryRules returns the rules about the znodes in a directory. The first one that holds names them.
func directoryRules() []rule {
	return []rule{
		{"revocablerw", "", "", does{ephemeral, watchesOther, writesOther, deletesOwn}, when{isLine, hasReaders}},
		{"rwlock/children-watch", "", "rwlock/nearest-writer-watch", does{ephemeral, waits, deletesOwn},
			when{isLine, hasReaders, firstIsDone, waitTogether}},
		{"rwlock", "", "", does{ephemeral, watchesOther, deletesOwn}, when{isLine, hasReaders, noList}},
		{"doublebarrier/children-watch", "membership", "", does{ephemeral, waits, deletesOwn, follows},
			when{isLine, both(waits, follows), leaveTogether, waitTogether}},
		{"doublebarrier", "", "", does{ephemeral, awaits, joins, persistent, deletesOwn}, when{both(creates, awaits)}},
		{"revocable", "", "", does{ephemeral, watchesOther, writesOther, deletesOwn}, when{isLine, inOrder}},
		{"lock/children-watch", "", "lock/predecessor-watch", does{ephemeral, waits, deletesOwn},
			when{isLine, inOrder, firstIsDone, waitTogether, rare(reads, waits), rare(follows, waits)}},
		{"lock/released-mark", "election/resigned-mark", "", does{ephemeral, watchesOther, writesOwn},
			when{isLine, inOrder, watchesBack, watchesOnce}},
		{"election/leader-watch", "lock", "election/predecessor-watch", does{ephemeral, watchesOther, deletesOwn},
			when{isLine, inOrder, watchesBack, wakesSeveral}},
		{"lock/predecessor-watch", "election/predecessor-watch", "", does{ephemeral, watchesOther, deletesOwn},
			when{isLine, inOrder, watchesBack}},
		{"election", "", "", does{ephemeral, watchesOther, leaves}, when{isLine, rare(deletesOwn, leaves), watchesBack}},
		{"priorityqueue", "queue", "", does{sequential, reads, deletesOther}, when{isQueue, hasPriorities}},
		{"queue", "", "", does{sequential, follows, consumes}, when{isQueue, not(rare(consumes, deletesOther))}},
		{"blockingqueue/all-watch", "", "blockingqueue/ticket", does{sequential, follows, deletesOther}, when{isQueue, wakesConsumers}},
		{"blockingqueue", "", "", does{sequential, follows, deletesOther}, when{isQueue}},
		{"queue", "", "", does{sequential, lists, deletesOther}, when{isQueue}},
		{inboxes, "", "", does{persistent, follows, reads, deletesOther}, when{isInbox}},
		{"twophasecommit", "masterworker", "", does{persistent, writesOther}, when{areVotes}},
		{"treecache", "", "", does{follows, watchesOther}, when{both(follows, watchesOther), rare(ephemeral, creates)}},
		{"membership", "", "", does{ephemeral, follows}, when{areMembers, othersFollow}},
		{"membership", "", "", does{ephemeral, waits, relists}, when{areMembers, not(firstIsDone)}},
	}
}

// znodeRules returns the rules about a znode that is not in a directory with a name.
func znodeRules() []rule {
	return []rule{
		{"lock/znode", "election/master-znode", "lock/predecessor-watch", does{creates, refused, deletesOwn}, when{isAwaited}},
		{"election/master-znode", "", "election/predecessor-watch", does{refused}, when{isAwaited, rare(deletesOwn, leaves)}},
		{"barrier", "", "", does{creates, watchesOther}, when{isBarrier}},
		{"config", "", "", does{writesOther, watchesOther}, when{isConfig}},
		{"config", "", "", does{writesOwn, watchesOther}, when{isConfig}},
	}
}

// inboxes is named only where several directories have each a session of their own.
const inboxes = "masterworker"

func (r rule) holds(f *family, e *evidence) bool {
	return e.most > 1 && e.often(r.roles...) && !slices.ContainsFunc(r.when, func(c condition) bool { return !c(f, e) })
}

func not(c condition) condition { return func(f *family, e *evidence) bool { return !c(f, e) } }

// both holds if several sessions have both roles.
func both(a, b role) condition { return func(_ *family, e *evidence) bool { return e.who(a, b) > 1 } }

// rare holds if an operation was seen at most once for four of another.
func rare(a, of role) condition {
	return func(_ *family, e *evidence) bool { return 4*e.n[a] <= e.n[of] }
}

// isLine reports whether several sessions have ephemeral sequential znodes.
func isLine(_ *family, e *evidence) bool {
	return e.often(sequential) && e.who(creates) > 1 && e.n[ephemeral] >= e.n[sequential]
}

// inOrder reports whether sessions delete their znodes in the order of the numbers, except a few that withdraw.
func inOrder(_ *family, e *evidence) bool {
	return e.often(deletesOwn) && 4*e.n[deletesFirst] >= 3*e.n[deletesOwn]
}

// leaveTogether reports whether all sessions delete their znodes before the next one is created.
func leaveTogether(_ *family, e *evidence) bool {
	return 2*int(e.n[deletesLast])*e.who(creates) >= int(e.n[deletesOwn])
}

// firstIsDone reports whether sessions stop watching the list when their znode is the first, as holders do and members do not.
func firstIsDone(_ *family, e *evidence) bool { return 4*e.n[relists] <= e.n[deletesOwn] }

func noList(_ *family, e *evidence) bool { return 4*(e.n[waits]+e.n[follows]) <= e.n[creates] }

// watchesBack reports whether sessions watch znodes with lower numbers than their own, and not the list.
func watchesBack(f *family, e *evidence) bool { return e.n[watchesLater] == 0 && noList(f, e) }

// watchesOnce reports whether sessions go on after a write to what they watch, and do not watch it again.
func watchesOnce(_ *family, e *evidence) bool { return 4*e.n[watchesOther] <= 5*e.n[creates] }

func wakesSeveral(_ *family, e *evidence) bool { return e.wakes.several() }

// waitTogether reports whether most sessions that have znodes watch the list, and whether a change wakes several of them.
func waitTogether(f *family, e *evidence) bool {
	return f.listWakes.several() && 2*e.who(ephemeral, waits) >= e.who(ephemeral)
}

func wakesConsumers(f *family, e *evidence) bool {
	return f.listWakes.several() && e.who(follows, deletesOther) > 1
}

// hasReaders reports whether the names of sequential znodes are of two kinds, one of them for readers.
func hasReaders(f *family, e *evidence) bool {
	readers := list.Where(f.names, isRead)
	return len(readers) > 0 && len(readers) < len(f.names) && e.n[readersWait] == 0
}

// isRead reports whether the name of a sequential znode has a word of a reader.
func isRead(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains([]string{"read", "reader", "readlock", "rlock"}, word) })
}

// isQueue reports whether most sessions that read the sequential znodes of others also take them, which outlive their sessions.
func isQueue(_ *family, e *evidence) bool {
	takers := e.who(reads, deletesOther)
	areTaken := 2*e.n[reads] <= 3*(e.n[deletesOther]+e.n[misses])
	return areTaken && e.often(sequential) && e.n[persistent] >= e.n[sequential] && takers > 0 && 2*takers > e.who(reads)
}

// hasPriorities reports whether the names of sequential znodes differ in numbers alone, before the last one.
func hasPriorities(f *family, _ *evidence) bool {
	isHex := func(name string) bool { return strings.HasSuffix(name, inHex) }
	words := list.Map(f.names, func(name string) string { return strings.Trim(name, "*-_0123456789") })
	return slices.ContainsFunc(f.names, isHex) || len(words) > 1 && len(slices.Compact(words)) == 1
}

// isInbox reports whether one session creates znodes, and another one takes them.
func isInbox(_ *family, e *evidence) bool {
	one := e.who(creates) == 1 && e.who(follows) == 1 && e.who(deletesOther) == 1
	return one && e.n[sequential] == 0 && e.who(creates, follows) == 0 && e.who(follows, deletesOther) == 1
}

// areVotes reports whether several sessions write once to znodes that one session has made, and watch each other's or the outcome.
func areVotes(f *family, e *evidence) bool {
	areWatched := e.who(watchesOther, writesOther) > 1 || e.often(watchesOwn) && f.self.often(watchesOther) && f.self.n[writesOwn] > 0
	return areWatched && e.who(creates) == 1 && e.who(writesOther) > 1 && e.n[writesOther] <= e.n[creates]
}

// areMembers reports whether several sessions have ephemeral znodes that no other session takes, or wants in their place.
func areMembers(f *family, e *evidence) bool {
	return e.often(joins) && e.who(ephemeral) > 1 && 4*(e.n[deletesOther]+e.n[refused]+e.n[claims]) <= e.n[ephemeral] && !hasReaders(f, e)
}

// othersFollow reports whether most sessions that watch the list without a znode in it never have one, unlike those that wait for a lease.
func othersFollow(_ *family, e *evidence) bool { return 2*e.who(follows, ephemeral) <= e.who(follows) }

// isBarrier reports whether sessions wait together until a znode is deleted, and nothing else happens to it.
func isBarrier(_ *family, e *evidence) bool {
	deleted, other := e.n[deletesOwn]+e.n[deletesOther], e.n[awaits]+e.n[refused]+e.n[writesOwn]+e.n[writesOther]
	return e.n[ephemeral]+e.n[sequential] == 0 && deleted >= leastEvidence && 4*other <= deleted && e.wakes.several()
}

// isAwaited reports whether several sessions try to create an ephemeral znode, and watch it where it exists.
func isAwaited(_ *family, e *evidence) bool {
	watchers := e.who(refused, watchesOther) + e.who(refused, awaits)
	return e.n[ephemeral] == e.n[creates] && e.who(refused) > 1 && e.who(creates) > 1 && watchers > 1
}

// isConfig reports whether several sessions watch a znode that others write, more often than it is made.
func isConfig(_ *family, e *evidence) bool {
	readers := e.who(watchesOther) - e.who(watchesOther, writesOwn) - e.who(watchesOther, writesOther)
	return e.n[ephemeral]+e.n[refused] == 0 && 4*e.n[creates] <= e.n[writesOwn]+e.n[writesOther] && readers > 1
}
