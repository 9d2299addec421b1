import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/** Lets everything in this process, `fetch` too, trust an authority until the end of the block. */
export async function trust(caFile: string): Promise<Disposable> {
  const usual = getCACertificates('default')
  setDefaultCACertificates([...usual, await readFile(caFile, 'utf8')])
  return { [Symbol.dispose]: () => setDefaultCACertificates(usual) }
}
