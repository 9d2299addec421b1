import pg from 'pg'

export type Client = pg.Client & AsyncDisposable

/** Opens a connection that ends with its block. If the server drops it, only its next query fails. */
export async function openClient(url: string | undefined): Promise<Client> {
  const client = new pg.Client({ connectionString: url })
  // Node ends a process for an error event that nobody listens to.
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** The rows of one statement, on a connection of its own. */
export async function queryRows<Row = Record<string, unknown>>(url: string | undefined, text: string): Promise<Row[]> {
  await using client = await openClient(url)
  return (await client.query(text)).rows as Row[]
}
