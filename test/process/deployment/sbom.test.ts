import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { blockCommands } from '../../kit/readme-commands.ts'
import { root } from '../../kit/service-process.ts'

interface Component {
  name: string
  version: string
  properties?: { name: string }[]
}

const isForTests = ({ properties = [] }: Component) =>
  properties.some(({ name }) => name === 'cdx:npm:package:development')

test('the documented command lists every package by exact version, and marks development ones', async () => {
  const line = blockCommands.find(({ text }) => text.startsWith('npm sbom '))?.text ?? ''
  const [command = ''] = line.split(' > ')

  const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: root, maxBuffer: 64 * 1024 * 1024 })

  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: Component[] }
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const namesOf = (chosen: Component[]) => new Set(chosen.map(({ name, version }) => `${name}@${version}`))
  const [runs, tests] = [components.filter((each) => !isForTests(each)), components.filter(isForTests)].map(namesOf)
  const missingIn = (list: Set<string> | undefined, packages: object) =>
    Object.entries(packages).filter(([name, version]) => !list?.has(`${name}@${version}`))
  expect(bomFormat).toBe('CycloneDX')
  expect(missingIn(runs, dependencies)).toEqual([])
  expect(missingIn(tests, { vitest: devDependencies.vitest })).toEqual([])
})
