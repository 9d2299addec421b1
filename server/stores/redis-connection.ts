import { Redis, type RedisOptions } from 'ioredis'

/** Address of Redis or Valkey. */
export interface RedisAddress {
  /** Without a URL the stores are within the process. With Sentinels its host is the name of the primary that they monitor. */
  url?: string | undefined
  /** Host and port of each Sentinel. */
  sentinels?: readonly string[]
  sentinelPassword?: string | undefined
}

type Options = Omit<RedisOptions, 'replyMapping'>

/** Connects to the primary. Reconnects to the new primary after a failover of the Sentinels, or if the server has become read-only. */
export function connectRedis(address: RedisAddress, options: Options): Redis {
  const redis = new Redis(address.url ?? '', {
    ...options,
    ...(address.sentinels?.length && toSentinelOptions(address)),
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  })
  // Each command reports its own failure. Without a listener, a connection error would end the process.
  redis.on('error', () => {})
  return redis
}

function toSentinelOptions({ url = '', sentinels = [], sentinelPassword }: RedisAddress): Options {
  return {
    sentinels: sentinels.map((address) => {
      const { hostname, port } = new URL(`redis://${address}`)
      return { host: hostname, port: Number(port || 26_379) }
    }),
    name: new URL(url).hostname,
    failoverDetector: true,
    // After this time a silent Sentinel is skipped, and the next one is asked.
    sentinelCommandTimeout: 3000,
    sentinelPassword,
    ...(url.startsWith('rediss:') && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  }
}
