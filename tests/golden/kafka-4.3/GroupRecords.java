// Writes group-records.txt: every type and version of record in __consumer_offsets, as the classes of Kafka 4.3 serialise it.
//   javac -cp "$JARS" GroupRecords.java && java -cp "$JARS:." GroupRecords > group-records.txt
import org.apache.kafka.coordinator.group.generated.*;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import java.util.*;
public class GroupRecords {
  static void p(String name, ApiMessage key, ApiMessage value, int version) {
    GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
    CoordinatorRecord r = value == null ? CoordinatorRecord.tombstone(key) : CoordinatorRecord.record(key, new ApiMessageAndVersion(value, (short) version));
    HexFormat h = HexFormat.of();
    System.out.println(name + " " + h.formatHex(serde.serializeKey(r)) + " " + (value == null ? "-" : h.formatHex(serde.serializeValue(r))));
  }
  public static void main(String[] a) {
    Uuid id = new Uuid(0x0102030405060708L, 0x090a0b0c0d0e0f10L);
    String big = "m".repeat(300);
    OffsetCommitKey ok = new OffsetCommitKey().setGroup("grüße").setTopic("orders").setPartition(7);
    for (int v = 0; v <= 4; v++) {
      OffsetCommitValue ov = new OffsetCommitValue().setOffset(1234567890123L).setLeaderEpoch(v >= 3 ? 5 : -1).setMetadata("é meta").setCommitTimestamp(1700000000000L);
      if (v == 1) ov.setExpireTimestamp(1700000600000L);
      if (v == 4) ov.setTopicId(id);
      p("offset-v" + v, ok, ov, v);
    }
    p("offset-no-id", ok, new OffsetCommitValue().setOffset(0).setMetadata("").setCommitTimestamp(-1), 4);
    p("offset-long", ok, new OffsetCommitValue().setOffset(-1).setLeaderEpoch(2147483647).setMetadata(big).setCommitTimestamp(Long.MAX_VALUE), 4);
    p("offset-tombstone", ok, null, 0);
    p("offset-legacy", new LegacyOffsetCommitKey().setGroup("g").setTopic("t").setPartition(0), new LegacyOffsetCommitValue().setOffset(3).setMetadata("x").setCommitTimestamp(4), 0);
    GroupMetadataKey gk = new GroupMetadataKey().setGroup("g");
    for (int v = 0; v <= 4; v++) {
      GroupMetadataValue.MemberMetadata m = new GroupMetadataValue.MemberMetadata().setMemberId("c-1").setClientId("c").setClientHost("/127.0.0.1").setSessionTimeout(45000).setSubscription(new byte[]{1,2,3}).setAssignment(new byte[]{4,5});
      if (v >= 1) m.setRebalanceTimeout(300000);
      if (v >= 3) m.setGroupInstanceId("i-1");
      GroupMetadataValue gv = new GroupMetadataValue().setProtocolType("consumer").setGeneration(9).setProtocol("range").setLeader("c-1").setMembers(List.of(m));
      if (v >= 2) gv.setCurrentStateTimestamp(1700000000000L);
      p("group-v" + v, gk, gv, v);
    }
    p("group-empty", gk, new GroupMetadataValue().setProtocol(null).setProtocolType("").setGeneration(0).setLeader(null).setCurrentStateTimestamp(17L).setMembers(List.of()), 3);
    p("group-tombstone", gk, null, 0);
    p("consumer-metadata", new ConsumerGroupMetadataKey().setGroupId("g"), new ConsumerGroupMetadataValue().setEpoch(4).setMetadataHash(0x1122334455667788L), 0);
    p("consumer-metadata-no-hash", new ConsumerGroupMetadataKey().setGroupId("g"), new ConsumerGroupMetadataValue().setEpoch(4), 0);
    p("consumer-partition-metadata", new ConsumerGroupPartitionMetadataKey().setGroupId("g"), new ConsumerGroupPartitionMetadataValue().setTopics(List.of(new ConsumerGroupPartitionMetadataValue.TopicMetadata().setTopicId(id).setTopicName("t").setNumPartitions(3).setPartitionMetadata(List.of(new ConsumerGroupPartitionMetadataValue.PartitionMetadata().setPartition(1).setRacks(List.of("a", "b")))))), 0);
    ConsumerGroupMemberMetadataKey mk = new ConsumerGroupMemberMetadataKey().setGroupId("g").setMemberId("m");
    p("consumer-member", mk, new ConsumerGroupMemberMetadataValue().setInstanceId("i").setRackId(null).setClientId("c").setClientHost("/::1").setSubscribedTopicNames(List.of("a", "b")).setSubscribedTopicRegex("x.*").setRebalanceTimeoutMs(1000).setServerAssignor("uniform"), 0);
    p("consumer-member-classic", mk, new ConsumerGroupMemberMetadataValue().setInstanceId(null).setRackId("r").setClientId("c").setClientHost("/::1").setSubscribedTopicNames(List.of()).setSubscribedTopicRegex(null).setRebalanceTimeoutMs(-1).setServerAssignor(null).setClassicMemberMetadata(new ConsumerGroupMemberMetadataValue.ClassicMemberMetadata().setSessionTimeoutMs(5).setSupportedProtocols(List.of(new ConsumerGroupMemberMetadataValue.ClassicProtocol().setName("range").setMetadata(new byte[]{9})))), 0);
    p("consumer-target-metadata", new ConsumerGroupTargetAssignmentMetadataKey().setGroupId("g"), new ConsumerGroupTargetAssignmentMetadataValue().setAssignmentEpoch(4).setAssignmentTimestamp(99), 0);
    p("consumer-target-member", new ConsumerGroupTargetAssignmentMemberKey().setGroupId("g").setMemberId("m"), new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(List.of(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(id).setPartitions(List.of(0, 5)))), 0);
    p("consumer-current", new ConsumerGroupCurrentMemberAssignmentKey().setGroupId("g").setMemberId("m"), new ConsumerGroupCurrentMemberAssignmentValue().setMemberEpoch(3).setPreviousMemberEpoch(2).setState((byte) 1).setAssignedPartitions(List.of(new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions().setTopicId(id).setPartitions(List.of(1, 2)).setAssignmentEpochs(List.of(3, 3)))).setPartitionsPendingRevocation(List.of(new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions().setTopicId(id).setPartitions(List.of(0)))), 0);
    p("consumer-regex", new ConsumerGroupRegularExpressionKey().setGroupId("g").setRegularExpression("a.*"), new ConsumerGroupRegularExpressionValue().setTopics(List.of("ab")).setVersion(5).setTimestamp(6), 0);
  }
}
