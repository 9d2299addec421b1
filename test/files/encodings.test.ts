import { expect, test } from 'vitest'
import { extractText } from '../../server/files/sandbox/extract.ts'
import { encodeText } from '../kit/sample-files/encodings.ts'

const read = (bytes: Buffer) => extractText(bytes, 'plain', 10_000)
const text = (text: string) => ({ text, marks: [], truncated: false, notes: [] })

const german = 'Name;Straße;Betrag\nMüller;Königsallee 5;12,50 €\nÖzdemir;Grüner Weg 7;8,00 €'
const russian = 'Имя;Город\nИван;Москва\nМария;Санкт-Петербург'
const japanese = '名前,都市\n田中太郎,東京\nこれはテストです。'

test.for<[encoding: string, text: string]>([
  ['windows-1252', german],
  ['windows-1252', 'Prénom;Ville\nRené;Évry\nHélène;Besançon'],
  ['windows-1252', 'Smørrebrød på Østerbro'],
  ['windows-1252', '© 2024 ACME, at 20 °C'],
  ['windows-1250', 'Imię;Miasto\nŁukasz;Łódź\nŚwiętosława;Gdańsk\nZażółć gęślą jaźń'],
  ['iso-8859-2', 'Imię;Miasto\nŁukasz;Łódź\nŚwiętosława;Gdańsk\nZażółć gęślą jaźń'],
  ['windows-1251', russian],
  ['koi8-r', russian],
  ['windows-1251', 'Файл открыт в Excelе, а не в Wordе: так пишут многие люди'],
  ['windows-1253', 'Όνομα;Πόλη\nΓιώργος;Αθήνα\nΕλένη;Θεσσαλονίκη'],
  ['windows-1255', 'שם;עיר\nמשה;ירושלים\nרחל;תל אביב'],
  ['windows-1256', 'الاسم;المدينة\nمحمد;القاهرة\nفاطمة;بغداد'],
  ['windows-874', 'สวัสดีครับ ประเทศไทย'],
  ['shift_jis', japanese],
  ['euc-jp', japanese],
  ['gbk', '姓名,城市\n王小明,北京\n李华,上海'],
  ['big5', '姓名,城市\n王小明,臺北'],
  ['euc-kr', '이름,도시\n김철수,서울\n이영희,부산'],
])('text in %s is read as it was written: %s', async ([encoding, written]) => {
  expect(await read(encodeText(written, encoding))).toEqual(text(written))
})

test.for([german, russian, japanese])(
  'text in UTF-8 and UTF-16 is read with and without a mark: %s',
  async (written) => {
    const [little, utf8] = [Buffer.from(written, 'utf16le'), Buffer.from(written)]
    const [big, mark] = [Buffer.from(little).swap16(), Buffer.from('\ufeff')]

    for (const bytes of [utf8, Buffer.concat([mark, utf8]), little, big])
      expect(await read(bytes)).toEqual(text(written))
    for (const bytes of [
      Buffer.from(`\ufeff${written}`, 'utf16le'),
      Buffer.from(`\ufeff${written}`, 'utf16le').swap16(),
    ])
      expect(await read(bytes)).toEqual(text(written))
  },
)

test('text that means equally much in several encodings is refused and not guessed', async () => {
  expect(await read(encodeText('Jméno;Město\nŽofie;Plzeň\nŘehoř;Příbram', 'iso-8859-2'))).toEqual({
    unreadable: 'unknown-encoding',
  })
})

test('bytes that no encoding explains are damaged', async () => {
  expect(await read(Buffer.from('\x7fELF\x02\x01\x01\0\0\0', 'latin1'))).toEqual({ unreadable: 'damaged' })
})
