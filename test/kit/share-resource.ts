import { afterAll, beforeAll } from 'vitest'

/**
 * Shares one resource among the tests of a file or a `describe`: it starts before the first of them and is disposed of
 * after the last. The returned object forwards to it, so only tests, hooks and the start of a later resource can use it.
 */
export function shareResource<T extends AsyncDisposable>(start: () => Promise<T>): T {
  let resource: T
  beforeAll(async () => {
    resource = await start()
  })
  afterAll(() => resource[Symbol.asyncDispose]())
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(resource, name),
    set: (_, name, value) => Reflect.set(resource, name, value),
    has: (_, name) => Reflect.has(resource, name),
    ownKeys: () => Reflect.ownKeys(resource),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(resource, name),
  })
}
