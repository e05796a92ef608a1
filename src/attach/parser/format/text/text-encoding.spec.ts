import { describe, expect, it } from '@jest/globals';
import { encoded } from '../../../../../test/support/documents/encoded.js';
import { decodeText } from './text-encoding.js';

const CHINESE = '本公司自二〇二四年起实行弹性工作制，员工可以在早上八点到十点之间开始工作。';
const TRADITIONAL = '本公司自去年起實行彈性工作制，員工可以在早上八點到十點之間開始工作。';
const JAPANESE =
  '当社は昨年からフレックスタイム制を導入しており、社員は朝八時から十時の間に出社できます。';
const KOREAN =
  '우리 회사는 작년부터 탄력 근무제를 시행하고 있으며 직원은 오전에 출근할 수 있습니다.';
const RUSSIAN = 'Наша компания ввела гибкий график, и сотрудники могут приходить к десяти часам.';

describe('decodeText', () => {
  it.each([
    ['gb18030', CHINESE],
    ['big5', TRADITIONAL],
    ['shift_jis', JAPANESE],
    ['euc-jp', JAPANESE],
    ['euc-kr', KOREAN],
    ['windows-1251', RUSSIAN],
    ['koi8-r', RUSSIAN],
    [
      'windows-1252',
      'Die Kündigungsfrist beträgt für beide Seiten drei Monate – “größere” Fristen gehen.',
    ],
    [
      'windows-1252',
      'La société a déjà présenté ses résultats à l’assemblée générale, où tout s’est passé sans problème.',
    ],
    [
      'windows-1250',
      'Umowa może być rozwiązana przez każdą ze stron z zachowaniem trzymiesięcznego okresu wypowiedzenia.',
    ],
    [
      'windows-1254',
      'Sözleşme, taraflardan herhangi biri tarafından üç aylık bildirim süresiyle feshedilebilir; şartlar aşağıdadır.',
    ],
  ])('knows %s: %s', (label, text) => {
    expect(decodeText(encoded(text, label))).toEqual({ text, encoding: label });
  });

  it.each([
    // What others answer with "convert it to UTF-8": tables with a few words in them.
    ['gb18030', '姓名,城市,电话\n张三,上海,1391234\n李四,北京,1381234\n'],
    ['gb18030', 'id,name\n1,王小明\n'],
    ['big5', '姓名,城市,電話\n張三,臺北,0912\n'],
    ['shift_jis', '名前,都市\n田中さん,東京\n'],
    ['euc-kr', '이름,도시\n김민수,서울\n'],
    ['windows-1252', 'Name;Stadt\nMüller;Köln\n'],
    ['windows-1252', 'name,city\nJosé,Málaga\n'],
    ['windows-1252', 'It’s the customer’s own data.'],
    ['windows-1252', 'Caffè'],
    ['windows-1251', 'Имя;Город\nИван;Москва\n'],
    ['windows-1250', 'Łódź'],
    ['windows-1250', 'Kraków;Wrocław;Gdańsk'],
    ['windows-1250', 'Zażółć gęślą jaźń'],
    ['windows-1250', 'Příliš žluťoučký kůň'],
    ['windows-1250', 'Cena: 20 Kč'],
    ['windows-1250', 'Číslo faktury'],
    ['windows-1250', 'Môže byť'],
    ['windows-1250', 'Árvíztűrő tükörfúrógép'],
    ['windows-1250', 'şi în România'],
    ['windows-1250', 'Račun broj 5'],
    ['windows-1250', 'Što je ovo'],
    ['iso-8859-2', 'Šárka a Tomáš'],
    ['windows-1252', 'La città è più bella'],
    ['windows-1252', 'não há informação'],
    ['windows-1252', 'Très bien, élève'],
    ['windows-1252', 'Smørrebrød'],
    ['windows-1254', 'Değerli müşterimiz'],
    ['windows-1254', 'İstanbul'],
  ])('knows %s by a few characters: %j', (label, text) => {
    expect(decodeText(encoded(text, label))).toEqual({ text, encoding: label });
  });

  it('finds what tells the encoding behind a long ASCII beginning', () => {
    const text = `${'plain line\n'.repeat(10_000)}${'plain '.repeat(10_000)}${CHINESE}`;
    expect(decodeText(encoded(text, 'gb18030'))).toEqual({ text, encoding: 'gb18030' });
  });

  it.each([
    ['utf-8', 'efbbbf', 'utf8'],
    ['utf-16le', 'fffe', 'utf16le'],
  ] as const)('takes the byte order mark of %s off', (label, mark, node) => {
    const bytes = Buffer.concat([Buffer.from(mark, 'hex'), Buffer.from(CHINESE, node)]);
    expect(decodeText(bytes)).toEqual({ text: CHINESE, encoding: label });
  });

  it.each([
    ['utf-16le', 'Without a mark, and short.\r\n'],
    ['utf-16le', `${CHINESE}\r\n`],
    ['utf-16be', 'Without a mark, and short.\r\n'],
    ['utf-16be', `${JAPANESE}\r\n`],
  ])('knows %s without a byte order mark: %j', (label, text) => {
    const little = Buffer.from(text, 'utf16le');
    const bytes = label === 'utf-16be' ? little.swap16() : little;
    expect(decodeText(bytes)).toEqual({ text: text.replace('\r\n', '\n'), encoding: label });
  });

  it('takes ASCII for UTF-8, its subset', () => {
    expect(decodeText(Buffer.from('plain'))).toEqual({ text: 'plain', encoding: 'utf-8' });
  });

  it('keeps UTF-8 that was cut within a character', () => {
    const cut = Buffer.from(CHINESE).subarray(0, -1);
    const { text, encoding } = decodeText(cut);
    expect(encoding).toBe('utf-8');
    expect(text.startsWith(CHINESE.slice(0, -1))).toBe(true);
  });

  it.each([
    ['stray bytes', `${'Größe der Straße. '.repeat(6)}M\xfcller, K\xf6hler, Sch\xe4fer`, 'latin1'],
    ['a line of another encoding', `Umowa\n`, 'windows-1250'],
  ])('reads UTF-8 with %s', (_, older, label) => {
    const text = 'Größe der Straße: Änderungen für Büros.\n'.repeat(5);
    const line = label === 'latin1' ? older : 'Umowa może być rozwiązana.\n';
    const [utf8, rest] = label === 'latin1' ? [line.slice(0, 108), line.slice(108)] : ['', line];
    const bytes = Buffer.concat([
      Buffer.from(text + utf8),
      label === 'latin1' ? Buffer.from(rest, 'latin1') : encoded(rest, label),
    ]);
    expect(decodeText(bytes)).toEqual({ text: `${text}${utf8}${rest}`, encoding: 'utf-8' });
  });

  it('makes line ends LF and removes what a database cannot store', () => {
    const bytes = Buffer.from(`a\r\nb\rc\n${'x'.repeat(300)}\0\u001a`);
    expect(decodeText(bytes).text).toBe(`a\nb\nc\n${'x'.repeat(300)}`);
    const single = Buffer.concat([
      Buffer.from('fffe41003dd8', 'hex'),
      Buffer.from('abc', 'utf16le'),
    ]);
    expect(decodeText(single).text).toBe('A\ufffdabc');
  });

  it('keeps what logs have: escapes, form feeds, tabs', () => {
    expect(decodeText(Buffer.from('\u001b[31mred\u001b[0m\f\tend')).text).toBe(
      '\u001b[31mred\u001b[0m\f\tend',
    );
  });

  it.each([
    [
      'random bytes',
      Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7_919 + (i >> 3)) % 256)),
    ],
    [
      'a program',
      Buffer.concat([Buffer.from('7f454c46020101', 'hex'), Buffer.alloc(200), Buffer.from('code')]),
    ],
    [
      'packed data',
      Buffer.from('1f8b0800000000000003cb48cdc9c95728cf2fca49010085114a0d0b000000', 'hex'),
    ],
  ])('refuses %s with a reason', (_, bytes) => {
    expect(() => decodeText(bytes)).toThrow(/not text but binary data.*upload/);
  });
});
