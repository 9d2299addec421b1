import { Redis, type RedisOptions } from 'ioredis'

/** Where Redis or Valkey is. */
export interface RedisAddress {
  /** In process where there is none. With Sentinels its host is the name of the primary that they watch. */
  url?: string | undefined
  /** Hosts with ports. */
  sentinels?: readonly string[]
  sentinelPassword?: string | undefined
}

type Options = Omit<RedisOptions, 'replyMapping'>

/** A connection to the primary. It goes over to another one when Sentinels choose that, or when it may no longer write there. */
export function connectRedis(address: RedisAddress, options: Options): Redis {
  const redis = new Redis(address.url ?? '', {
    ...options,
    ...(address.sentinels?.length && throughSentinels(address)),
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  })
  // Each command reports its own failure; without a listener the reconnecting would end the process.
  redis.on('error', () => {})
  return redis
}

function throughSentinels({ url = '', sentinels = [], sentinelPassword }: RedisAddress): Options {
  return {
    sentinels: sentinels.map((address) => {
      const { hostname, port } = new URL(`redis://${address}`)
      return { host: hostname, port: Number(port || 26_379) }
    }),
    name: new URL(url).hostname,
    failoverDetector: true,
    // One that is silent keeps nobody from asking the next one.
    sentinelCommandTimeout: 3000,
    sentinelPassword,
    ...(url.startsWith('rediss:') && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  }
}
