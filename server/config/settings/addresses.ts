import ipaddr from 'ipaddr.js'

/** An address, or a network such as `10.0.0.0/8`; throws for anything else. */
export function parseNetwork(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
