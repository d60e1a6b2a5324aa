// Gets one file: get.js HOST PATH
let total = 0;
require("http").get({ host: process.argv[2], port: 8000, path: process.argv[3] }, answer => { answer.on("data", piece => { total += piece.length; }); answer.on("end", () => console.log(total)); });
