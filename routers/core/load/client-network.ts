import ipaddr from 'ipaddr.js'

/**
 * Returns the network by which requests of strangers are counted: the /64 network of an IPv6 address, because one person
 * can use all of its addresses.
 */
export function toClientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}
