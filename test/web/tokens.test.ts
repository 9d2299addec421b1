import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const folder = join(import.meta.dirname, '../../facades/web')

interface Declaration {
  file: string
  property: string
  value: string
}

const read = (file: string) => readFileSync(join(folder, file), 'utf8').replace(/\/\*.*?\*\//gs, '')

const listDeclarations = (file: string): Declaration[] =>
  [...read(file).matchAll(/([\w-]+):\s*([^;{}]+)(?=[;}])/g)].map(([, property = '', value = '']) => ({
    file,
    property,
    value: value.replace(/\s+/g, ' '),
  }))

const table = listDeclarations('tokens.css')
const declarations = globSync('{app,browser}/**/*.css', { cwd: folder }).flatMap(listDeclarations)

const isSpacing = (property: string) => /^(?:(?:row-|column-)?gap|(?:padding|margin)(?:-.+)?)$/.test(property)

const listMatches = (filter: (property: string) => boolean, pattern: RegExp) =>
  declarations
    .filter(({ property, value }) => filter(property) && pattern.test(value))
    .map(({ file, property, value }) => `${file.split('/').at(-1)} ${property}: ${value}`)
    .toSorted()

describe('the sheets of the front end', () => {
  test('take distances from the table, but for those inside a line of text', () => {
    const inLines = ['markdown.css padding: 0.1em 0.3em', 'usage-settings.module.css margin-inline-end: 0.5em']

    expect(listMatches(isSpacing, /(?<![\w-])-?[\d.]*[1-9](?:rem|em|px|ch)/)).toEqual(inLines)
  })

  test('take sizes of text from the table, but for those relative to something else', () => {
    const relative = [
      'avatar.module.css font-size: calc(var(--size) * 0.4)',
      'frame.css font: 0.9em ui-monospace, monospace',
      'markdown.css font: 0.9em ui-monospace, monospace',
    ]
    const isSize = (property: string) => property === 'font-size' || property === 'font'

    expect(listMatches(isSize, /^(?!var\(--text-|var\(--button-text|inherit$)/)).toEqual(relative)
  })

  test('take weights, corners, shadows and colours from the table', () => {
    expect(listMatches((property) => property === 'font-weight', /^(?!var\(--weight-|inherit$)/)).toEqual([])
    expect(listMatches((property) => property.endsWith('radius'), /[\d.]+(?:rem|px|%)/)).toEqual([])
    expect(listMatches((property) => property === 'box-shadow', /^(?!var\(--shadow|inset )/)).toEqual([])
    // Pages that are previewed expect white.
    expect(listMatches(() => true, /#[\da-f]{3,8}\b|\b(?:rgb|hsl|oklch|light-dark)\(/i)).toEqual([
      'markdown.css background: #ffffff',
    ])
  })

  test('use each entry of the table, and none that is missing there', () => {
    const defined = table.flatMap(({ property }) => (property.startsWith('--') ? [property] : []))
    const local = declarations.flatMap(({ property }) => (property.startsWith('--') ? [property] : []))
    const used = [...table, ...declarations].flatMap(({ value }) => value.match(/(?<=var\()--[\w-]+/g) ?? [])
    // The position of a menu comes from the library that places it.
    const fromLibraries = ['--available-height', '--anchor-width']

    expect(defined.filter((name) => !used.includes(name))).toEqual([])
    expect([...new Set(used)].filter((name) => ![...defined, ...local, ...fromLibraries].includes(name))).toEqual([])
  })
})
