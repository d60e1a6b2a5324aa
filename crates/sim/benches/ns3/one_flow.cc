// One CUBIC flow in ns-3: the scenario of `speed` (1 Gbit/s, RTT 20 ms, a drop-tail queue of 1 BDP), so that both simulators can
// be timed on the same work. Prints one line: packets sent, payload bytes received, CPU seconds.
//
// Never: a figure of the model's own making; packets are counted where they leave the sender's device.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace ns3;

static uint64_t g_packets = 0;

static void
CountData(Ptr<const Packet> packet)
{
    g_packets += packet->GetSize() > 1000;
}

int
main(int argc, char* argv[])
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
    const uint32_t buffer = 64 << 20;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetDeviceAttribute("Mtu", UintegerValue(1500));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    // 1 BDP: 2 500 000 bytes. The device's own queue is the bottleneck's; no queue disc stands before it.
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2500000B"));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountData));

    const uint16_t port = 5001;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
    source.SetAttribute("SendSize", UintegerValue(262144));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes.Get(1));
    sinks.Start(Seconds(0));

    Simulator::Stop(Seconds(seconds));
    const std::clock_t began = std::clock();
    Simulator::Run();
    const double cpu = double(std::clock() - began) / CLOCKS_PER_SEC;
    const uint64_t received = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    Simulator::Destroy();
    std::printf("%llu %llu %.6f\n", (unsigned long long)g_packets, (unsigned long long)received, cpu);
    return 0;
}
