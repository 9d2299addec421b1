import { AppFiles } from '../../../facades/web/app-files.ts'
import { buildApp } from '../../../server/app.ts'
import { readSite } from '../../../server/config/site.ts'
import { createDrain } from '../../../server/http/drain.ts'
import type { TestApp } from '../app.ts'

/** Method and path of every route of a service, as the server itself lists them. */
export async function listRoutes(svc: TestApp): Promise<[method: string, path: string][]> {
  const app = await buildApp({
    ...svc,
    log: svc.services.log as never,
    drain: createDrain(),
    appSource: new AppFiles(),
    site: await readSite(svc.env),
  })
  const tree = app.printRoutes({ commonPrefix: false })
  await app.close()
  const branch: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', path = '', methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \((.+)\))?/.exec(line) ?? []
    if (!path) return []
    const depth = indent.length / 4
    branch.splice(depth, branch.length, path)
    return methods.split(', ').flatMap((method) => (method ? [[method, branch.join('')] as [string, string]] : []))
  })
}
