/**
 * Codes of the Pusher protocol. As close codes those from 4000 to 4099 and from 4300 on end a client for good, from 4100 on it
 * comes back after a second, and from 4200 on at once.
 */
export const codes = {
  unknownKey: 4001,
  tooManyConnections: 4004,
  badVersion: 4006,
  unsupportedVersion: 4007,
  unauthorized: 4009,
  overCapacity: 4100,
  badFrame: 4200,
  silent: 4201,
  eventRejected: 4301,
} as const
