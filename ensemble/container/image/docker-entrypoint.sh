#!/bin/bash
# Writes zoo.cfg from the variables that the official `zookeeper` image reads, then runs the server as the zookeeper user.
set -euo pipefail

data=${ZOO_DATA_DIR:-/data}
log=${ZOO_DATA_LOG_DIR:-/datalog}
cfg=/run/zoo.cfg

mkdir -p "$data" "$log"
echo "${ZOO_MY_ID:-1}" >"$data/myid"

{
	echo "dataDir=$data"
	echo "dataLogDir=$log"
	echo "tickTime=${ZOO_TICK_TIME:-2000}"
	echo "initLimit=${ZOO_INIT_LIMIT:-5}"
	echo "syncLimit=${ZOO_SYNC_LIMIT:-2}"
	echo "autopurge.snapRetainCount=${ZOO_AUTOPURGE_SNAPRETAINCOUNT:-3}"
	echo "autopurge.purgeInterval=${ZOO_AUTOPURGE_PURGEINTERVAL:-0}"
	echo "maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}"
	echo "standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}"
	echo "admin.enableServer=${ZOO_ADMINSERVER_ENABLED:-true}"
	if [[ -n ${ZOO_4LW_COMMANDS_WHITELIST:-} ]]; then
		echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
	fi
	if [[ -z ${ZOO_SERVERS:-} ]]; then
		ZOO_SERVERS="server.1=localhost:2888:3888;2181"
	fi
	printf '%s\n' $ZOO_SERVERS
	printf '%s\n' ${ZOO_CFG_EXTRA:-}
} >"$cfg"

chown -R zookeeper:zookeeper "$data" "$log" "$cfg"

# For TLS, Netty needs two jars that the manifest of Debian's jar does not name.
jars=/usr/share/java
heap=${ZK_SERVER_HEAP:-1000}
exec setpriv --reuid zookeeper --regid zookeeper --clear-groups \
	java -Xmx"${heap}m" ${JVMFLAGS:-} ${SERVER_JVMFLAGS:-} \
	-Dorg.slf4j.simpleLogger.defaultLogLevel="${ZOO_LOG_LEVEL:-info}" -Dorg.slf4j.simpleLogger.showDateTime=true \
	-cp /etc/zookeeper/conf:$jars/zookeeper.jar:$jars/slf4j-simple.jar:$jars/netty-codec.jar:$jars/netty-resolver.jar \
	org.apache.zookeeper.server.quorum.QuorumPeerMain "$cfg"
