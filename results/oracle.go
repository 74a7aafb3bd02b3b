package results

// Oracle compares the clients' counts with the servers' counts between two snapshots at rest. Where the window is part of a
// running load, the snapshots enclose more than the window.
type Oracle struct {
	Checked             bool   `json:"checked"`
	Why                 string `json:"why,omitempty"` // the reason if it was not checked, or why counts are in doubt
	ClientNotifications int64  `json:"client_notifications"`
	ServerNotifications int64  `json:"server_notifications"`
	ClientWrites        int64  `json:"client_writes"`
	ServerTransactions  int64  `json:"server_transactions"`
	// BackgroundWrites is the number of writes of the background, which the servers' transactions contain, too.
	BackgroundWrites int64 `json:"background_writes,omitempty"`

	// AllRequests and AllNotifications are the clients' counts of everything that [Series] contains.
	AllRequests      int64 `json:"all_requests"`
	AllNotifications int64 `json:"all_notifications"`

	// ServerPackets is the number of packets that the servers received from sessions: requests and housekeeping of clients,
	// bystanders, background and zkbench itself. Those sessions had sent between LeastPackets and MostPackets, because some were on
	// their way during the snapshots. All three are zero if they were not compared.
	ServerPackets int64 `json:"server_packets,omitempty"`
	LeastPackets  int64 `json:"least_packets,omitempty"`
	MostPackets   int64 `json:"most_packets,omitempty"`

	// Further events that the servers' counts contain, or lack, if connections and sessions ended.
	LostNotifications   int64 `json:"lost_notifications,omitempty"`   // sent, and lost with a connection
	ResentNotifications int64 `json:"resent_notifications,omitempty"` // received, and not in the servers' counters
	SessionTransactions int64 `json:"session_transactions,omitempty"` // that opened and ended sessions

	// Upper bounds of counts that are in doubt.
	UnknownNotifications int64 `json:"unknown_notifications,omitempty"` // that may have been sent in addition
	UnknownTransactions  int64 `json:"unknown_transactions,omitempty"`  // that may not have been made
}

// Agrees reports whether both sides counted the same, as far as is known.
func (o Oracle) Agrees() bool {
	return o.NotificationsAgree() && o.TransactionsAgree() && o.PacketsAgree()
}

// Sent returns how many notifications the clients know to have been sent by the servers.
func (o Oracle) Sent() int64 {
	return o.ClientNotifications - o.ResentNotifications + o.LostNotifications
}

// Made returns how many transactions the requests of clients and background, and their sessions, make if all of them took place.
func (o Oracle) Made() int64 { return o.ClientWrites + o.BackgroundWrites + o.SessionTransactions }

// NotificationsAgree reports whether both sides counted the same notifications, as far as is known.
func (o Oracle) NotificationsAgree() bool {
	more := o.ServerNotifications - o.Sent()
	return 0 <= more && more <= o.UnknownNotifications
}

// TransactionsAgree reports whether the servers made the transactions that were asked for, as far as is known.
func (o Oracle) TransactionsAgree() bool {
	fewer := o.Made() - o.ServerTransactions
	return 0 <= fewer && fewer <= o.UnknownTransactions
}

// PacketsAgree reports whether the servers received the packets that zkbench's sessions sent; true if they were not compared.
func (o Oracle) PacketsAgree() bool {
	return o.LeastPackets <= o.ServerPackets && o.ServerPackets <= o.MostPackets
}

// Doubtful reports whether the comparison is not exact.
func (o Oracle) Doubtful() bool { return o.UnknownNotifications > 0 || o.UnknownTransactions > 0 }
