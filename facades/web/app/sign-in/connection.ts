import { api, type Connection } from '../shared/api/client.ts'
import { goToSignIn } from './return-path.ts'

const { brand = '' } = document.documentElement.dataset

let reading: Promise<Connection> | undefined

/**
 * Reads the connection once; reads it again after a failure. Forms wait for it, so that none must be disabled before.
 * Leads to the sign-in if the session has ended.
 */
export function readConnection(): Promise<Connection> {
  reading ??= readAgain().then(
    (connection) => (connection.userinfo ? connection : goToSignIn()),
    (error: unknown) => {
      reading = undefined
      throw error
    },
  )
  return reading
}

/** Reads the connection as it is now. */
export const readAgain = (): Promise<Connection> => api.connections.get.query({ id: brand })
